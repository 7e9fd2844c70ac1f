import { fromQueued, type Settlement } from '@tidegate/contracts';
import { DAY_MS, dayOf, KEPT_DAYS } from '@tidegate/limits';
import { z } from 'zod';

const INT_MAX = 2_147_483_647;
const LATEST_MS = Date.UTC(2200, 0);

const id = z.string().regex(/^[\w.:-]{1,64}$/);
const count = z.int().min(0).max(INT_MAX);

const settlementSchema = z
  .object({
    reservationId: id,
    outboxId: id,
    orgId: id,
    keyId: id,
    modelId: id,
    admittedAtMs: z.int().min(0).max(LATEST_MS),
    answered: z.boolean(),
    errorCode: id.nullable(),
    streamed: z.boolean(),
    reservedTokens: count,
    promptTokens: count.nullable(),
    completionTokens: count.nullable(),
    chargedTokens: count,
    durationMs: count.nullable(),
    // Older limiters do not send it.
    firstChunkMs: count.nullable().default(null),
  })
  .refine(
    (s) => (s.promptTokens === null) === (s.completionTokens === null),
    'promptTokens and completionTokens must both be null or both be set',
  )
  .refine((s) => s.chargedTokens <= s.reservedTokens, 'chargedTokens exceeds reservedTokens');

export interface ParsedBatch {
  readonly settlements: Settlement[];
  /** Settlements that no retry can write. */
  readonly invalid: { readonly data: unknown; readonly reason: string }[];
}

/** The first day whose rows are kept, YYYY-MM-DD. */
export const firstKeptDay = (nowMs: number): string => dayOf(nowMs - KEPT_DAYS.requests * DAY_MS);

/**
 * Parses a job's data settlement by settlement, so that an invalid one does not hold up the others.
 * @param nowMs by the clock that dates settlements
 */
export function parseBatch(data: unknown, nowMs: number): ParsedBatch {
  const list = (data as { settlements?: unknown } | null)?.settlements;
  if (!Array.isArray(list))
    return { settlements: [], invalid: [{ data, reason: 'not a batch of settlements' }] };
  const parsed: ParsedBatch = { settlements: [], invalid: [] };
  const firstDay = firstKeptDay(nowMs);
  for (const item of list) {
    const result = settlementSchema.safeParse(item);
    if (!result.success) parsed.invalid.push({ data: item, reason: reasonOf(result.error) });
    else if (dayOf(result.data.admittedAtMs) < firstDay) {
      parsed.invalid.push({ data: item, reason: `reserved more than ${KEPT_DAYS.requests} days ago` });
    } else parsed.settlements.push(fromQueued(result.data));
  }
  return parsed;
}

function reasonOf(error: z.ZodError): string {
  const issue = error.issues[0];
  return [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ');
}
