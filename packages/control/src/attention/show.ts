import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField } from '../fields.ts';
import { toNumber } from '../numbers.ts';
import { ok, parseInput, type Result } from '../result.ts';
import { lastHours } from '../usage/period.ts';
import { type UsageMonth, writtenMonth } from '../usage/usage.ts';

/** Requests of this hour and the one before are counted. */
const HOURS = 2;

const attentionInput = z.object({ org: orgField });
export type ShowAttentionInput = z.input<typeof attentionInput>;

/** What may call for attention. */
export interface AttentionView {
  readonly failedModels: number;
  /** Of this hour and the one before. */
  readonly requests: number;
  /** Those of them that did not end with a complete answer. */
  readonly errors: number;
  /** As metering has written it. Never `live`, so that no page waits for the limiter. */
  readonly month: UsageMonth;
}

/** Counts what may call for attention. Cheap, because every page of the console asks for it. */
export async function showAttention(
  deps: ControlDeps,
  actor: Actor,
  input: ShowAttentionInput,
): Promise<Result<AttentionView>> {
  const parsed = parseInput(attentionInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'usage.show');
  if (!org.ok) return org;
  const orgId = org.value.id;
  const hour = { in: lastHours(HOURS, deps.now()).steps.map((step) => new Date(step)) };
  const [failedModels, { _sum: sums }, month] = await Promise.all([
    deps.db.model.count({ where: { orgId, deletedAt: null, condition: 'failed' } }),
    deps.db.usageHour.aggregate({ where: { orgId, hour }, _sum: { requests: true, errors: true } }),
    writtenMonth(deps, orgId),
  ]);
  const { requests, errors } = sums;
  return ok({ failedModels, requests: toNumber(requests ?? 0), errors: toNumber(errors ?? 0), month });
}
