import { createHash } from 'node:crypto';
import { LOCAL_POOL, newUserId, randomBase62 } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import type { Actor } from './access/access.ts';
import type { Role } from './access/policy.ts';
import { type Control, createControl } from './control.ts';
import type {
  ConditionNow,
  ControlDeps,
  Inspection,
  LimiterPort,
  LiveMonth,
  PoolActivity,
  PoolRoom,
  RunnerPort,
  ServerToInspect,
  WorkloadCheck,
} from './deps.ts';
import type { ControlRefusal, Result } from './result.ts';

/*
 * For this package's tests: control on a given database, with a limiter and a runner that record
 * their calls and can be made unreachable.
 */

export const OPERATOR: Actor = { kind: 'operator' };
export const SECRET_KEY = Buffer.alloc(32, 7);
/** How long a session lasts without use, and how long at most. */
export const SESSION_IDLE_MS = 8 * 3_600_000;
const SESSION_MS = 7 * 86_400_000;
/** Fast, unlike the hashing of real passwords. */
export const hashPassword = async (password: string): Promise<string> =>
  createHash('sha256').update(password).digest('hex');

interface RecordedLimiter extends LimiterPort {
  away: boolean;
  live: LiveMonth;
  /** The state of requests that metering has not written, by id. */
  readonly underWay: Map<string, 'open' | 'queued'>;
  readonly revoked: string[];
  readonly refreshed: string[];
  readonly forgotten: string[];
}

interface RecordedRunner extends RunnerPort {
  away: boolean;
  /** Requests in flight by model id, the same for every organization. */
  busy: ReadonlyMap<string, number>;
  /** The condition that models get when they are started or refreshed. */
  started: ConditionNow['condition'];
  /** Replicas by model id. */
  counts: PoolActivity['replicas'];
  pools: readonly string[];
  /** By pool. Any other has no capacity. */
  readonly rooms: Map<string, PoolRoom>;
  /** What it answers about any workload. */
  workload: WorkloadCheck;
  readonly calls: string[];
  /** What each checked server answers, by base URL. Any other cannot be reached. */
  readonly servers: Map<string, Inspection>;
  /** The servers that were checked, and the pools whose runners were asked. */
  readonly inspected: (ServerToInspect & { readonly pool: string })[];
  /** The organizations whose requests in flight were asked for. */
  readonly looked: string[];
}

export interface Fixture {
  readonly control: Control;
  readonly limiter: RecordedLimiter;
  readonly runner: RecordedRunner;
  /** Creates an organization on a plan. Returns its slug. */
  org(name: string, plan?: string): Promise<string>;
  /** Creates a signed-in user with a role in the organization. */
  user(org: string, role: Role): Promise<Actor & { kind: 'user' }>;
  /** Opens another session of the user. Returns its id. */
  session(user: Actor & { kind: 'user' }): Promise<string>;
  /** Creates a page key in a new session of the user. */
  pageKey(user: Actor & { kind: 'user' }, org: string): ReturnType<Control['createPageKey']>;
}

/** @param more dependencies that a test needs to be different */
export function createFixture(db: Db, now: () => number, more: Partial<ControlDeps> = {}): Fixture {
  const limiter = recordedLimiter();
  const runner = recordedRunner();
  const control = createControl({
    db,
    limiter,
    runner,
    secretKey: SECRET_KEY,
    hashPassword,
    sessionIdleMs: SESSION_IDLE_MS,
    now,
    ...more,
  });
  const session: Fixture['session'] = async ({ userId }) => {
    const id = randomBase62(20);
    const [lastSeenAt, expiresAt] = [new Date(now()), new Date(now() + SESSION_MS)];
    await db.session.create({ data: { id, token: id, userId, lastSeenAt, expiresAt } });
    return id;
  };
  return {
    control,
    limiter,
    runner,
    org: async (name, plan = 'Pro') => value(await control.createOrg(OPERATOR, { name, plan })).slug,
    user: async (org, role) => {
      const id = newUserId();
      const email = `${id.toLowerCase()}@example.com`;
      await db.user.create({ data: { id, email, name: id } });
      value(await control.addMember(OPERATOR, { org, email, role }));
      return { kind: 'user', userId: id, email };
    },
    session,
    pageKey: async (user, org) => control.createPageKey(user, { org, session: await session(user) }),
  };
}

/** The value of a result that must be ok. */
export function value<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new Error(`refused: ${result.refusal.code}: ${result.refusal.message}`);
}

/** The refusal of a result that must be one. */
export function refusal(result: Result<unknown>): ControlRefusal {
  if (!result.ok) return result.refusal;
  throw new Error(`not refused: ${JSON.stringify(result.value)}`);
}

function recordedLimiter(): RecordedLimiter {
  const reach = () => {
    if (recorded.away) throw new Error('away');
  };
  const recorded: RecordedLimiter = {
    away: false,
    live: {
      month: '2026-11',
      requests: 7,
      chargedTokens: 70,
      reservedTokens: 5,
      resetsAtMs: 1_796_083_200_000,
      inFlight: 1,
    },
    revoked: [],
    refreshed: [],
    forgotten: [],
    revokeKey: async ({ keyId }) => {
      reach();
      recorded.revoked.push(keyId);
    },
    refreshOrgs: async (orgIds) => {
      reach();
      recorded.refreshed.push(...orgIds);
    },
    forgetOrg: async (orgId) => {
      reach();
      recorded.forgotten.push(orgId);
    },
    month: async () => {
      reach();
      return recorded.live;
    },
    underWay: new Map(),
    findRequest: async (_orgId, admissionId) => {
      reach();
      return recorded.underWay.get(admissionId) ?? null;
    },
  };
  return recorded;
}

function recordedRunner(): RecordedRunner {
  const call =
    (name: string, condition?: ConditionNow['condition']) =>
    async (modelId: string, pool: string | null): Promise<ConditionNow> => {
      if (recorded.away) throw new Error('away');
      recorded.calls.push([name, modelId, ...(pool === null || pool === LOCAL_POOL ? [] : [pool])].join(' '));
      return { condition: condition ?? recorded.started, reason: '' };
    };
  const recorded: RecordedRunner = {
    away: false,
    busy: new Map(),
    started: 'starting',
    counts: new Map(),
    pools: [LOCAL_POOL],
    rooms: new Map(),
    workload: { problem: '', impossible: false },
    calls: [],
    looked: [],
    refresh: call('refresh'),
    start: call('start'),
    stop: call('stop', 'stopped'),
    servers: new Map(),
    inspected: [],
    inspect: async (server, pool) => {
      if (recorded.away) throw new Error('away');
      recorded.inspected.push({ ...server, pool });
      const absent = { problem: 'Its server does not answer.', server: '', version: '', models: [] };
      return recorded.servers.get(server.baseUrl) ?? absent;
    },
    checkWorkload: async ({ namespace, kind, name, service }) => {
      if (recorded.away) throw new Error('away');
      recorded.calls.push(`check ${namespace}/${kind}/${name} ${service}`);
      return recorded.workload;
    },
    activity: async (orgId) => {
      if (recorded.away) throw new Error('away');
      recorded.looked.push(orgId);
      return new Map([[LOCAL_POOL, { inFlight: recorded.busy, replicas: recorded.counts }]]);
    },
    room: async (pool) => {
      if (recorded.away) throw new Error('away');
      return recorded.rooms.get(pool) ?? null;
    },
  };
  return recorded;
}
