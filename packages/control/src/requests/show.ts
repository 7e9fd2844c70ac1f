import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField } from '../fields.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { requestIdField } from './fields.ts';
import { readRequest } from './read.ts';
import { type RequestView, viewRequests } from './view.ts';

const showInput = z.object({
  org: orgField,
  /** As in `x-request-id` or in the answer's id, or only the part that both share. */
  id: requestIdField,
});
export type ShowRequestInput = z.input<typeof showInput>;

/** How far a counted request is on its way into the usage. */
export type RequestProgress = 'open' | 'queued' | 'settled';

export interface FoundRequest {
  /** As in the header `x-request-id`. */
  readonly id: string;
  /**
   * open: in progress. queued: it has ended, and metering has not written it yet. settled: it is in
   * the usage.
   */
  readonly state: RequestProgress;
  /** Null until it is settled. */
  readonly request: RequestView | null;
}

/** Finds one counted request of the last 35 days, also before it is in the usage. */
export async function showRequest(
  deps: ControlDeps,
  actor: Actor,
  input: ShowRequestInput,
): Promise<Result<FoundRequest>> {
  const parsed = parseInput(showInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'request.list');
  if (!org.ok) return org;
  const orgId = org.value.id;
  const reservationId = parsed.value.id;
  const id = `req_${reservationId}`;
  const settled = async (): Promise<FoundRequest | null> => {
    const row = await readRequest(deps.db, orgId, reservationId);
    const [request] = row ? await viewRequests(deps.db, orgId, [row]) : [];
    return request ? { id, state: 'settled', request } : null;
  };
  const found = await settled();
  if (found) return ok(found);
  const state = await deps.limiter.findRequest(orgId, reservationId).catch(() => 'unavailable' as const);
  if (state === 'open' || state === 'queued') return ok({ id, state, request: null });
  // It may have been written in between.
  const late = await settled();
  if (late) return ok(late);
  return refuse('not_found', state === null ? NOT_COUNTED : UNAVAILABLE, 'id');
}

const NOT_COUNTED =
  'No request counted in the last 35 days has this id. Requests that were refused before they were counted are not listed.';
const UNAVAILABLE =
  'No settled request has this id. Whether one is in progress is not known: the limiter is not available right now.';
