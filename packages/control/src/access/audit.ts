import { newAuditId } from '@tidegate/contracts';
import type { Tx } from '../deps.ts';
import { type Actor, actorName } from './access.ts';

export interface AuditEntry {
  readonly orgId: string;
  /** noun.verb */
  readonly action: string;
  /** Id of what was acted on. */
  readonly target: string;
  /** Names and settings; no secrets. */
  readonly details: Record<string, string | number | boolean | null | readonly string[]>;
}

/** Written in the transaction of the change itself: no change without its event, no event without its change. */
export async function audit(
  tx: Tx,
  actor: Actor,
  atMs: number,
  entries: readonly AuditEntry[],
): Promise<void> {
  await tx.auditEvent.createMany({
    data: entries.map(({ details, ...entry }) => ({
      id: newAuditId(),
      at: new Date(atMs),
      actor: actorName(actor),
      ...entry,
      details: { ...details } as object,
    })),
  });
}
