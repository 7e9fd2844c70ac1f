import { newAuditId } from '@tidegate/contracts';
import type { Tx } from '../deps.ts';
import { type Actor, actorName } from './access.ts';

export interface AuditEntry {
  /** Null: no organization. The event is in the trail of the installation. */
  readonly orgId: string | null;
  /** noun.verb */
  readonly action: string;
  /** The id of what was changed. */
  readonly target: string;
  /** Names and settings. Never secrets. */
  readonly details: Record<string, string | number | boolean | null | readonly string[]>;
}

/**
 * Writes events in the transaction of the change itself. So there is never a change without its
 * event, nor an event without its change. Null: nobody knows who did it.
 */
export async function audit(
  tx: Tx,
  actor: Actor | null,
  atMs: number,
  entries: readonly AuditEntry[],
): Promise<void> {
  await tx.auditEvent.createMany({
    data: entries.map(({ details, ...entry }) => ({
      id: newAuditId(),
      at: new Date(atMs),
      actor: actor ? actorName(actor) : 'unknown',
      ...entry,
      details: { ...details } as object,
    })),
  });
}

/**
 * Writes the event of an act that is about several organizations, or about none. An operator's is
 * in the trail of the installation, too, where it outlives these organizations.
 */
export const auditInEach = (
  tx: Tx,
  actor: Actor,
  atMs: number,
  orgIds: readonly string[],
  event: Omit<AuditEntry, 'orgId'>,
): Promise<void> => {
  const trails = actor.kind === 'operator' ? [null, ...orgIds] : orgIds;
  return audit(
    tx,
    actor,
    atMs,
    trails.map((orgId) => ({ orgId, ...event })),
  );
};
