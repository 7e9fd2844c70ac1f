import { newAuditId } from '@tidegate/contracts';
import type { Tx } from '../deps.ts';
import { type Actor, actorName } from './access.ts';

/** Every action that a trail can have, as noun.verb. */
export const AUDIT_ACTIONS = [
  ...(['org.create', 'org.setPlan', 'org.requireTwoFactor', 'org.delete'] as const),
  ...(['plan.create', 'plan.set', 'pool.set', 'queue.replay', 'secrets.reseal'] as const),
  ...(['key.create', 'key.revoke', 'key.delete'] as const),
  ...(['model.publish', 'model.check', 'model.change', 'model.start', 'model.stop'] as const),
  ...(['model.delete', 'model.reseal'] as const),
  ...(['member.add', 'member.invite', 'member.withdraw', 'member.join', 'member.setRole'] as const),
  ...(['member.setPassword', 'member.resetTwoFactor', 'member.resetIdentity'] as const),
  ...(['member.remove', 'member.leave'] as const),
  ...(['account.signIn', 'account.signInFailed', 'account.linkProvider', 'account.delete'] as const),
  ...(['account.changePassword', 'account.enableTwoFactor', 'account.disableTwoFactor'] as const),
  ...(['account.addApp', 'account.addPasskey', 'account.removePasskey'] as const),
  ...(['account.useBackupCode', 'account.renewRecoveryCodes'] as const),
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditEntry {
  /** Null: no organization. The event is in the trail of the installation. */
  readonly orgId: string | null;
  readonly action: AuditAction;
  /** The id of what was changed. */
  readonly target: string;
  /** Names and settings. Never secrets. */
  readonly details: Record<string, string | number | boolean | null | readonly string[]>;
}

/**
 * Writes events in the transaction of the change itself, so there is never a change without its
 * event, nor an event without its change. An actor of null: it is not known who did it.
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
      actor: nameOf(actor),
      ...entry,
      details: { ...details } as object,
    })),
  });
}

/**
 * Writes the event of an act that concerns several organizations, or none. An operator's event also
 * goes to the trail of the installation, where it outlives these organizations. An organization
 * that is deleted in the meantime gets none.
 */
export async function auditInEach(
  tx: Tx,
  actor: Actor | null,
  atMs: number,
  orgIds: readonly string[],
  event: Omit<AuditEntry, 'orgId'>,
): Promise<void> {
  const left = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM org WHERE id = ANY(${[...orgIds]}::text[]) ORDER BY id FOR KEY SHARE`;
  const trails = [...(actor?.kind === 'operator' ? [null] : []), ...left.map(({ id }) => id)];
  const ids = trails.map(newAuditId);
  const { action, target, details } = event;
  // One statement, because thousands of organizations may be on a plan.
  await tx.$executeRaw`
    INSERT INTO audit_event (id, org_id, at, actor, action, target, details)
    SELECT id, org_id, ${new Date(atMs)}, ${nameOf(actor)}, ${action}, ${target}, ${JSON.stringify(details)}::jsonb
    FROM unnest(${ids}::text[], ${trails}::text[]) AS trail (id, org_id)`;
}

const nameOf = (actor: Actor | null): string => (actor ? actorName(actor) : 'unknown');
