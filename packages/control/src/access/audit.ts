import { newAuditId } from '@tidegate/contracts';
import type { Tx } from '../deps.ts';
import { type Actor, actorName } from './access.ts';

export interface AuditEntry {
  readonly orgId: string;
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
