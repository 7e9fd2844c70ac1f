import type { AuditEntry } from '../access/audit.ts';
import type { Role } from '../access/policy.ts';
import type { Tx } from '../deps.ts';

interface Which {
  /** The organizations to look in. Their members must be locked. */
  readonly orgIds: readonly string[];
  /** Invitations for this e-mail. */
  readonly of?: string | undefined;
  /** Invitations by this inviter. */
  readonly by?: string | undefined;
}

interface Withdrawn {
  readonly id: string;
  readonly orgId: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string;
  readonly wasOpen: boolean;
}

/**
 * Deletes invitations for someone, by someone, or both, as part of another change. Resolves to an
 * audit entry for each one that could still be accepted. Members are locked, so no invitation is
 * accepted in the meantime.
 */
export async function withdrawInvitations(
  tx: Tx,
  atMs: number,
  { orgIds, of = '', by = '' }: Which,
): Promise<(AuditEntry & { readonly orgId: string })[]> {
  const rows = await tx.$queryRaw<Withdrawn[]>`
    DELETE FROM invitation
    WHERE org_id = ANY(${[...orgIds]}::text[]) AND (email = ${of} OR invited_by = ${by})
    RETURNING id, org_id AS "orgId", email, role::text AS role, invited_by AS "invitedBy",
      expires_at > ${new Date(atMs)} AS "wasOpen"`;
  return rows
    .filter(({ wasOpen }) => wasOpen)
    .map(({ id, orgId, email, role, invitedBy }) => ({
      orgId,
      action: 'member.withdraw',
      target: id,
      details: { email, role, invitedBy },
    }));
}
