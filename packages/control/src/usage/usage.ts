import { LIMITS, monthEndMs, monthOf } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField, reference, wholeBetween } from '../fields.ts';
import { toNumber } from '../numbers.ts';
import { ok, parseInput, type Result } from '../result.ts';
import { isStep, lastDays, lastHours, onlyStep, type Period } from './period.ts';
import { type Histograms, readSteps, readTimes, readUsage, type StepUsage } from './read.ts';
import { countsOf, NO_USAGE, plus, type UsageCounts } from './sums.ts';
import {
  allTimes,
  modelsOf,
  rowsOf,
  type TimePercentiles,
  timesOf,
  type UsageModelView,
  type UsageRowView,
  type UsageStepView,
} from './views.ts';

const MAX_DAYS = 366;
/** Metering also keeps the hours of the day before these. */
const MAX_HOURS = 168;
/** The most rows that can be asked for, unless all are. */
export const MAX_USAGE_ROWS = 1_000;

/** Restrict usage to one key or model, by id. */
const filterFields = {
  keyId: reference('Key id').optional(),
  modelId: reference('Model id').optional(),
};

const usageInput = z
  .object({
    org: orgField,
    days: wholeBetween('Days', 1, MAX_DAYS).optional(),
    /** In place of days. */
    hours: wholeBetween('Hours', 1, MAX_HOURS).optional(),
    ...filterFields,
    /** At most this many rows, the busiest ones. Default: all. */
    maxRows: wholeBetween('Rows', 1, MAX_USAGE_ROWS).optional(),
    /**
     * True: without models and rows, which cost most of the time, and with percentiles only if one
     * model is given.
     */
    brief: z.boolean({ error: 'Brief must be true or false.' }).optional(),
  })
  .refine(({ days, hours }) => days === undefined || hours === undefined, {
    path: ['hours'],
    error: 'Give days or hours, not both.',
  });
export type UsageInput = z.input<typeof usageInput>;

export interface UsageMonth {
  /** YYYY-MM, UTC. */
  readonly month: string;
  /** Requests counted this month. Includes open ones if `live`. */
  readonly requests: number;
  /** The plan's limit. */
  readonly requestsCap: number;
  readonly tokens: {
    readonly charged: number;
    /** Tokens of open reservations. 0 unless `live`, because otherwise they are not known. */
    readonly reserved: number;
    readonly cap: number;
  };
  /** Requests in progress. Null unless `live`. */
  readonly inFlight: number | null;
  /** ISO 8601. */
  readonly resetsAt: string;
  /**
   * True: exact numbers from the limiter. False: the limiter is unavailable or was not asked, and
   * these are the settled requests that metering has written.
   */
  readonly live: boolean;
}

export interface UsageDayView extends UsageCounts {
  /** The UTC day of the reservations, YYYY-MM-DD. */
  readonly day: string;
  /** `requests` minus `errors`. */
  readonly answered: number;
}

export interface UsageHourView extends UsageCounts {
  /** The first instant of the hour of the reservations. ISO 8601. */
  readonly hour: string;
  /** `requests` minus `errors`. */
  readonly answered: number;
}

export interface UsageView {
  readonly totals: UsageCounts & TimePercentiles;
  /**
   * Each UTC day of the period, oldest first, including days without requests. Empty if hours were
   * asked for.
   */
  readonly days: readonly UsageDayView[];
  /** The same by hour. Empty unless hours were asked for. */
  readonly hours: readonly UsageHourView[];
  /** Busiest first. */
  readonly models: readonly UsageModelView[];
  /** By key and model, busiest first. */
  readonly rows: readonly UsageRowView[];
  /** How many rows there are, including those beyond `maxRows`. */
  readonly rowCount: number;
  readonly month: UsageMonth;
}

/**
 * Usage of the last `days` UTC days, including today, or of the last `hours`, including this one;
 * and of this month (docs/conformance.md, "Usage record").
 */
export async function showUsage(
  deps: ControlDeps,
  actor: Actor,
  input: UsageInput,
): Promise<Result<UsageView>> {
  const parsed = parseInput(usageInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'usage.show');
  if (!org.ok) return org;
  const orgId = org.value.id;
  const { days = LIMITS.usageDays, hours, maxRows = null, brief = false } = parsed.value;
  const { keyId = null, modelId = null } = parsed.value;
  const period = hours === undefined ? lastDays(days, deps.now()) : lastHours(hours, deps.now());
  const filter = { keyId, modelId };
  const [{ steps, models, pairs, pairCount }, times, month] = await Promise.all([
    brief
      ? readSteps(deps.db, orgId, period, filter).then((alone) => ({ ...NO_PAIRS, steps: alone }))
      : readUsage(deps.db, orgId, period, filter, maxRows),
    // Times are not stored by key. Those of all models take long to add up.
    keyId === null && (!brief || modelId !== null)
      ? readTimes(deps.db, orgId, period, filter)
      : new Map<string, Histograms>(),
    readMonth(deps, orgId),
  ]);
  const all = everyStep(period, steps);
  const isDays = hours === undefined;
  return ok({
    totals: {
      ...countsOf(steps.map(({ sums }) => sums).reduce(plus, NO_USAGE)),
      ...timesOf(allTimes(times.values())),
    },
    days: isDays ? all.map(({ step, ...counts }) => ({ day: step, ...counts })) : [],
    hours: isDays ? [] : all.map(({ step, ...counts }) => ({ hour: step, ...counts })),
    models: modelsOf(models, times),
    rows: rowsOf(pairs),
    rowCount: pairCount,
    month,
  });
}

const NO_PAIRS = { models: [], pairs: [], pairCount: 0 };

/** All steps of the period, including those without requests. */
function everyStep(period: Period, steps: readonly StepUsage[]): readonly UsageStepView[] {
  const byStep = new Map(steps.map(({ step, sums }) => [step, sums]));
  return period.steps.map((step) => {
    const counts = countsOf(byStep.get(step) ?? NO_USAGE);
    return { step, ...counts, answered: counts.requests - counts.errors };
  });
}

const STEP_RULE = 'Step must be a day as YYYY-MM-DD, or the start of an hour in ISO 8601.';
const stepInput = z.object({
  org: orgField,
  /** As a day or an hour of `UsageView`. */
  step: z.string({ error: STEP_RULE }).refine(isStep, { error: STEP_RULE }),
  ...filterFields,
});
export type UsageOfStepInput = z.input<typeof stepInput>;

/**
 * Usage of one UTC day or hour by key and model, busiest first. An export consists of such steps.
 */
export async function showUsageOfStep(
  deps: ControlDeps,
  actor: Actor,
  input: UsageOfStepInput,
): Promise<Result<readonly UsageRowView[]>> {
  const parsed = parseInput(stepInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'usage.show');
  if (!org.ok) return org;
  const { step, keyId = null, modelId = null } = parsed.value;
  const filter = { keyId, modelId };
  const { pairs } = await readUsage(deps.db, org.value.id, onlyStep(step), filter, null);
  return ok(rowsOf(pairs));
}

async function readMonth(deps: ControlDeps, orgId: string): Promise<UsageMonth> {
  const [written, live] = await Promise.all([
    writtenMonth(deps, orgId),
    deps.limiter.month(orgId).catch(() => null),
  ]);
  if (!live) return written;
  return {
    ...written,
    month: live.month,
    requests: live.requests,
    tokens: { charged: live.chargedTokens, reserved: live.reservedTokens, cap: written.tokens.cap },
    inFlight: live.inFlight,
    resetsAt: new Date(live.resetsAtMs).toISOString(),
    live: true,
  };
}

/** The month of the settled requests that metering has written. The limiter is not asked. */
export async function writtenMonth({ db, now }: ControlDeps, orgId: string): Promise<UsageMonth> {
  const month = monthOf(now());
  const [org, total] = await Promise.all([
    db.org.findUniqueOrThrow({ where: { id: orgId }, select: { plan: true } }),
    db.monthTotal.findUnique({ where: { orgId_month: { orgId, month } } }),
  ]);
  return {
    month,
    requests: toNumber(total?.requests ?? 0),
    requestsCap: toNumber(org.plan.requestsPerMonth),
    tokens: {
      charged: toNumber(total?.chargedTokens ?? 0),
      reserved: 0,
      cap: toNumber(org.plan.tokensPerMonth),
    },
    inFlight: null,
    resetsAt: new Date(monthEndMs(month)).toISOString(),
    live: false,
  };
}
