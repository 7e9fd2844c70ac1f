import { DAY_MS, HOUR_MS } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField } from '../fields.ts';
import { ok, parseInput, type Result } from '../result.ts';
import { type CountedErrors, type Grain, readErrors } from './read-errors.ts';

const STEP_MS: Readonly<Record<Grain, number>> = { hour: HOUR_MS, day: DAY_MS };
/** Only the newest errors are counted, so that a long outage does not make the screen slow. */
const COUNTED_MAX = 50_000;

/** The periods to choose from, in steps of UTC time. The last step is the current one. */
const PERIODS = {
  '24h': { step: 'hour', steps: 24 },
  '7d': { step: 'day', steps: 7 },
  '30d': { step: 'day', steps: 30 },
} as const satisfies Record<string, { step: Grain; steps: number }>;
export type ErrorsPeriod = keyof typeof PERIODS;

const PERIOD_NAMES = Object.keys(PERIODS) as [ErrorsPeriod, ...ErrorsPeriod[]];

const errorsInput = z.object({
  org: orgField,
  period: z.enum(PERIOD_NAMES, { error: `Period must be one of ${PERIOD_NAMES.join(', ')}.` }).default('24h'),
});
export type ShowErrorsInput = z.input<typeof errorsInput>;

export interface ErrorsView extends Omit<CountedErrors, 'steps' | 'oldestAt'> {
  readonly period: ErrorsPeriod;
  readonly step: Grain;
  /** The first instant of the period. ISO 8601. */
  readonly from: string;
  /** Null: all are counted. Otherwise only the newest are, back to this instant. ISO 8601. */
  readonly countedFrom: string | null;
  /** Each step of the period, oldest first, including those without errors. */
  readonly steps: readonly ErrorsStep[];
}

export interface ErrorsStep {
  /** Its first instant. ISO 8601. */
  readonly at: string;
  /** How many errors, by code. Codes without any are absent. */
  readonly codes: Readonly<Record<string, number>>;
}

/**
 * Counts the organization's counted requests without a complete answer, by code over time, by key
 * and by model. Requests that were refused before they were counted are not among them.
 */
export async function showErrors(
  deps: ControlDeps,
  actor: Actor,
  input: ShowErrorsInput,
): Promise<Result<ErrorsView>> {
  const parsed = parseInput(errorsInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'request.list');
  if (!org.ok) return org;
  const { period } = parsed.value;
  const { step, steps } = PERIODS[period];
  const stepMs = STEP_MS[step];
  const toMs = Math.floor(deps.now() / stepMs + 1) * stepMs;
  const fromMs = toMs - steps * stepMs;
  const within = { orgId: org.value.id, fromMs, toMs, step };
  const { steps: counted, oldestAt, ...errors } = await readErrors(deps.db, within, COUNTED_MAX);
  const codesAt = new Map<string, Record<string, number>>();
  for (const { at, code, errors: count } of counted) codesAt.set(at, { ...codesAt.get(at), [code]: count });
  const stepsOf = Array.from({ length: steps }, (_, i) => new Date(fromMs + i * stepMs).toISOString());
  return ok({
    period,
    step,
    from: new Date(fromMs).toISOString(),
    ...errors,
    countedFrom: errors.total >= COUNTED_MAX ? oldestAt : null,
    steps: stepsOf.map((at) => ({ at, codes: codesAt.get(at) ?? {} })),
  });
}
