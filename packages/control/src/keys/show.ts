import type { Actor } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { ok, type Result } from '../result.ts';
import { findKey, type KeyInput } from './keys.ts';
import { type KeyView, keyView } from './view.ts';

/** The audit event is written in the same transaction, but the clock is read again for its time. */
const SLACK_MS = 60_000;

export interface KeyDetail extends KeyView {
  /** As in the audit trail. Null: the trail does not go back that far. */
  readonly createdBy: string | null;
  /** ISO 8601; null: it is not revoked. */
  readonly revokedAt: string | null;
}

/** Shows one key of the organization, without its value. */
export async function showKey(deps: ControlDeps, actor: Actor, input: KeyInput): Promise<Result<KeyDetail>> {
  const found = await findKey(deps, actor, input, 'key.list');
  if (!found.ok) return found;
  const { orgId, row } = found.value;
  const createdAtMs = row.createdAt.getTime();
  const event = await deps.db.auditEvent.findFirst({
    where: {
      orgId,
      action: 'key.create',
      target: row.id,
      at: { gte: new Date(createdAtMs - SLACK_MS), lte: new Date(createdAtMs + SLACK_MS) },
    },
    select: { actor: true },
  });
  return ok({
    ...keyView(row, deps.now()),
    createdBy: event?.actor ?? null,
    revokedAt: row.revokedAt?.toISOString() ?? null,
  });
}
