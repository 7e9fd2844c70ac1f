import { DAY_MS, eachPlanLimit, HOUR_MS, KEPT_DAYS, type PlanLimitValues } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField, reference, wholeBetween } from '../fields.ts';
import { toNumber } from '../numbers.ts';
import type { Grain } from '../requests/read-errors.ts';
import { ok, parseInput, type Result } from '../result.ts';
import { type CountedRefusals, readRefusals } from './read.ts';

const STEP_MS: Readonly<Record<Grain, number>> = { hour: HOUR_MS, day: DAY_MS };
const DEFAULT_HOURS = 24;
const MAX_HOURS = 72;

const refusalsInput = z
  .object({
    org: orgField,
    /** UTC hours or days up to the current one. Default: 24 hours. */
    hours: wholeBetween('Hours', 1, MAX_HOURS).optional(),
    days: wholeBetween('Days', 1, KEPT_DAYS.refusals).optional(),
    keyId: reference('Key id').optional(),
  })
  .refine(({ hours, days }) => hours === undefined || days === undefined, {
    error: 'Give hours or days, not both.',
    path: ['hours'],
  });
export type ShowRefusalsInput = z.input<typeof refusalsInput>;

export interface RefusalsView extends Omit<CountedRefusals, 'steps'> {
  readonly step: Grain;
  /** The first instant of the period. ISO 8601. */
  readonly from: string;
  /** Each step of the period, oldest first, including those without refusals. */
  readonly steps: readonly RefusalsStep[];
  /** The limits that the keys share. */
  readonly plan: PlanLimitValues;
}

export interface RefusalsStep {
  /** Its first instant. ISO 8601. */
  readonly at: string;
  /** How many, by cause, or by code where no limit refused. Those without any are absent. */
  readonly causes: Readonly<Record<string, number>>;
}

/**
 * Counts the requests of the organization's keys that were refused before they were counted. They
 * are in no usage, quota or limit. A request without a valid key belongs to no organization.
 */
export async function showRefusals(
  deps: ControlDeps,
  actor: Actor,
  input: ShowRefusalsInput,
): Promise<Result<RefusalsView>> {
  const parsed = parseInput(refusalsInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'usage.show');
  if (!org.ok) return org;
  const { hours, days, keyId = null } = parsed.value;
  const step: Grain = days === undefined ? 'hour' : 'day';
  const steps = days ?? hours ?? DEFAULT_HOURS;
  const stepMs = STEP_MS[step];
  const toMs = Math.floor(deps.now() / stepMs + 1) * stepMs;
  const fromMs = toMs - steps * stepMs;
  const orgId = org.value.id;
  const [{ steps: counted, ...refusals }, { plan }] = await Promise.all([
    readRefusals(deps.db, { orgId, keyId, step, fromMs, toMs }),
    deps.db.org.findUniqueOrThrow({ where: { id: orgId }, select: { plan: true } }),
  ]);
  const causesAt = Array.from({ length: steps }, (): Record<string, number> => ({}));
  for (const { atMs, code, cause, refusals: count } of counted) {
    const causes = causesAt[Math.floor((atMs - fromMs) / stepMs)] ?? {};
    causes[cause ?? code] = (causes[cause ?? code] ?? 0) + count;
  }
  return ok({
    ...refusals,
    step,
    from: new Date(fromMs).toISOString(),
    steps: causesAt.map((causes, i) => ({ at: new Date(fromMs + i * stepMs).toISOString(), causes })),
    plan: eachPlanLimit((limit) => toNumber(plan[limit])),
  });
}
