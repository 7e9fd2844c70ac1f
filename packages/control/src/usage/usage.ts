import { dayOf, LIMITS, monthEndMs, monthOf } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { isDay, orgField, reference, whole } from '../fields.ts';
import { toNumber } from '../numbers.ts';
import { ok, parseInput, type Result } from '../result.ts';
import { type Counts, readDays, readRows, type UsageDayView, type UsageRowView } from './read.ts';

const DAY_MS = 86_400_000;
const MAX_DAYS = 366;

const usageInput = z.object({
  org: orgField,
  days: whole('Days', 1, MAX_DAYS).default(LIMITS.usageDays),
  /** Restrict totals and days to one key or model, by id. They do not restrict the rows. */
  keyId: reference('Key id').optional(),
  modelId: reference('Model id').optional(),
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
    /** Tokens of open reservations. 0 unless `live`, because then they are not known. */
    readonly reserved: number;
    readonly cap: number;
  };
  /** Requests in progress. Null unless `live`. */
  readonly inFlight: number | null;
  /** ISO 8601. */
  readonly resetsAt: string;
  /**
   * True: exact numbers from the limiter. False: the limiter is unavailable, and these are the
   * settled requests that metering has written.
   */
  readonly live: boolean;
}

export interface UsageView {
  readonly totals: Counts;
  /** Each UTC day of the window, oldest first, including days without requests. */
  readonly days: readonly UsageDayView[];
  /** By key and model, busiest first. */
  readonly rows: readonly UsageRowView[];
  readonly month: UsageMonth;
}

/**
 * Usage of the last `days` UTC days, including today, and of this month (docs/conformance.md,
 * "Usage record").
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
  const todayMs = deps.now();
  const window = Array.from({ length: parsed.value.days }, (_, i) =>
    dayOf(todayMs - (parsed.value.days - 1 - i) * DAY_MS),
  );
  const first = window[0] ?? dayOf(todayMs);
  const last = window.at(-1) ?? first;
  const [{ totals, days }, rows, month] = await Promise.all([
    readDays(deps.db, orgId, window, {
      keyId: parsed.value.keyId ?? null,
      modelId: parsed.value.modelId ?? null,
    }),
    readRows(deps.db, orgId, first, last),
    readMonth(deps, orgId),
  ]);
  return ok({ totals, days, rows, month });
}

const dayInput = z.object({
  org: orgField,
  day: z.string().refine(isDay, { error: 'Day must be a day as YYYY-MM-DD.' }),
});
export type UsageOfDayInput = z.input<typeof dayInput>;

/** Usage of one UTC day by key and model, busiest first. An export consists of such days. */
export async function showUsageOfDay(
  deps: ControlDeps,
  actor: Actor,
  input: UsageOfDayInput,
): Promise<Result<readonly UsageRowView[]>> {
  const parsed = parseInput(dayInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'usage.show');
  if (!org.ok) return org;
  return ok(await readRows(deps.db, org.value.id, parsed.value.day, parsed.value.day));
}

async function readMonth({ db, limiter, now }: ControlDeps, orgId: string): Promise<UsageMonth> {
  const month = monthOf(now());
  const [org, live, total] = await Promise.all([
    db.org.findUniqueOrThrow({ where: { id: orgId }, select: { plan: true } }),
    limiter.month(orgId).catch(() => null),
    db.monthTotal.findUnique({ where: { orgId_month: { orgId, month } } }),
  ]);
  const requestsCap = toNumber(org.plan.requestsPerMonth);
  const cap = toNumber(org.plan.tokensPerMonth);
  if (live) {
    return {
      month: live.month,
      requests: live.requests,
      requestsCap,
      tokens: { charged: live.chargedTokens, reserved: live.reservedTokens, cap },
      inFlight: live.inFlight,
      resetsAt: new Date(live.resetsAtMs).toISOString(),
      live: true,
    };
  }
  return {
    month,
    requests: toNumber(total?.requests ?? 0),
    requestsCap,
    tokens: { charged: toNumber(total?.chargedTokens ?? 0), reserved: 0, cap },
    inFlight: null,
    resetsAt: new Date(monthEndMs(month)).toISOString(),
    live: false,
  };
}
