import type { CallerName } from '@tidegate/contracts';
import { limiterService, runnerService } from '../definitions.ts';
import type { LimiterDefinition, RunnerDefinition } from '../generated/index.ts';

type MethodsOf<D> = keyof {
  [M in keyof D as string extends M ? never : number extends M ? never : M]: D[M];
};
type Rules<D> = { readonly [M in MethodsOf<D>]: readonly CallerName[] };

const CONTROL_PLANE = ['console', 'ctl'] as const;

/* Who may make which call. Each service may make only those that it needs. */

const LIMITER: Rules<LimiterDefinition> = {
  Session: ['gateway'],
  ConfirmSettlements: ['metering'],
  RefreshOrgs: CONTROL_PLANE,
  RevokeKey: CONTROL_PLANE,
  ForgetOrg: CONTROL_PLANE,
  GetMonth: CONTROL_PLANE,
  FindRequest: CONTROL_PLANE,
};

const RUNNER: Rules<RunnerDefinition> = {
  // The catalog contains the keys of all organizations' upstreams.
  Watch: ['gateway'],
  Wake: ['gateway'],
  Start: CONTROL_PLANE,
  Stop: CONTROL_PLANE,
  Refresh: CONTROL_PLANE,
  CheckWorkload: CONTROL_PLANE,
  ListActivity: CONTROL_PLANE,
  GetRoom: CONTROL_PLANE,
  Inspect: CONTROL_PLANE,
};

const pathsOf = (service: object, rules: object): [string, readonly CallerName[]][] =>
  Object.entries(rules).map(([method, services]) => [
    (service as Record<string, { readonly path: string }>)[method]?.path ?? '',
    services,
  ]);

const RULES = new Map([...pathsOf(limiterService, LIMITER), ...pathsOf(runnerService, RUNNER)]);

/** @param path of the call: `/PACKAGE.SERVICE/METHOD` */
export const servicesAllowed = (path: string): readonly CallerName[] => RULES.get(path) ?? [];
