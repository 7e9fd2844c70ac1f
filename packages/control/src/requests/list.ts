import { ERROR_CODE_FORM } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import { DAY_MS, KEPT_DAYS } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField, reference, wholeBetween } from '../fields.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { timeField } from './fields.ts';
import { type RequestRow, readRequests } from './read.ts';
import { type RequestView, viewRequests } from './view.ts';

const MAX_PAGE = 200;
const DEFAULT_PAGE = 50;
/** The clock of Redis, which dates requests, may be ahead of this machine's. */
const AHEAD_MS = 60_000;
const OUTCOME_RULE = 'Outcome must be answered, errors, or an error code such as upstream_error.';
const CURSOR_RULE = 'Before must be the value that an earlier page gave as next.';
const CURSOR = /^(\d{1,15})-([0-9A-Za-z]{1,64})$/;

const requestsInput = z.object({
  org: orgField,
  keyId: reference('Key id').optional(),
  modelId: reference('Model id').optional(),
  /** `answered`, `errors` (all of them), or an error code. */
  outcome: z.string({ error: OUTCOME_RULE }).regex(ERROR_CODE_FORM, { error: OUTCOME_RULE }).optional(),
  /** The first instant (UTC). */
  from: timeField('From'),
  /** The end (UTC): a time is not included, a day is. */
  to: timeField('To', { ends: true }),
  /** The `next` of an earlier page: only older requests are listed. */
  before: z
    .string({ error: CURSOR_RULE })
    .regex(CURSOR, { error: CURSOR_RULE })
    .transform(cursorOf)
    .optional(),
  limit: wholeBetween('Limit', 1, MAX_PAGE).default(DEFAULT_PAGE),
});
export type ListRequestsInput = z.input<typeof requestsInput>;

export interface RequestPage {
  readonly requests: readonly RequestView[];
  /** Pass this as `before` to get the next page, with older requests. Null: there are none. */
  readonly next: string | null;
}

/**
 * Lists the organization's counted requests of the last 35 days that match, newest first, in pages.
 * Requests that were refused before they were counted are in no list.
 */
export async function listRequests(
  deps: ControlDeps,
  actor: Actor,
  input: ListRequestsInput,
): Promise<Result<RequestPage>> {
  const parsed = parseInput(requestsInput, input);
  if (!parsed.ok) return parsed;
  const { keyId = null, modelId = null, outcome = null, from, to, before, limit } = parsed.value;
  if (from !== undefined && to !== undefined && from >= to)
    return refuse('invalid_input', 'The period must end after it begins.', 'from');
  const org = await access(deps, actor, parsed.value.org, 'request.list');
  if (!org.ok) return org;
  const orgId = org.value.id;
  const nowMs = deps.now();
  const oldestMs = nowMs - KEPT_DAYS.requests * DAY_MS;
  const filter = {
    orgId,
    keyId,
    modelId,
    outcome,
    fromMs: Math.max(from ?? oldestMs, oldestMs),
    toMs: Math.min(to ?? Number.POSITIVE_INFINITY, nowMs + AHEAD_MS),
    after: before ?? null,
  };
  const rows = filter.fromMs < filter.toMs ? await readRequests(deps.db, filter, limit + 1) : [];
  return ok(await pageOf(deps.db, orgId, rows, limit));
}

async function pageOf(db: Db, orgId: string, rows: RequestRow[], limit: number): Promise<RequestPage> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next = rows.length > limit && last ? `${last.reservedAt.getTime()}-${last.reservationId}` : null;
  return { requests: await viewRequests(db, orgId, shown), next };
}

function cursorOf(text: string) {
  const [, ms = '0', reservationId = ''] = CURSOR.exec(text) ?? [];
  return { reservedAtMs: Number(ms), reservationId };
}
