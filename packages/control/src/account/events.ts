import { isIPv4, isIPv6 } from 'node:net';
import { type AuditEntry, auditInEach } from '../access/audit.ts';
import type { ControlDeps } from '../deps.ts';

/** What happens to an account outside of any organization's screens. */
export type AccountAction =
  | 'account.signIn'
  | 'account.signInFailed'
  | 'account.linkProvider'
  | 'account.changePassword'
  | 'account.enableTwoFactor'
  | 'account.disableTwoFactor'
  | 'account.addApp'
  | 'account.addPasskey'
  | 'account.removePasskey'
  | 'account.useBackupCode'
  | 'account.renewRecoveryCodes';

export interface AccountEvent {
  readonly action: AccountAction;
  /** The account: its id, or its e-mail where nothing else is known. */
  readonly account: { readonly userId: string } | { readonly email: string };
  /** The caller's address. The trail gets only its network. */
  readonly address?: string | undefined;
  /** When it happened, in Unix milliseconds. Default: now. */
  readonly atMs?: number | undefined;
  /** For example the way of signing in. Never secrets. */
  readonly details?: AuditEntry['details'];
}

/**
 * Records an event of an account in the trail of each of its organizations. An e-mail without an
 * account leaves no trace. Resolves to the number of trails that got it.
 */
export async function recordAccountEvent(
  { db, now }: Pick<ControlDeps, 'db' | 'now'>,
  { action, account, address, atMs = now(), details = {} }: AccountEvent,
): Promise<number> {
  const where = 'userId' in account ? { id: account.userId } : { email: account.email.trim().toLowerCase() };
  const user = await db.user.findUnique({
    where,
    select: { id: true, email: true, members: { select: { orgId: true } } },
  });
  if (!user || user.members.length === 0) return 0;
  const network = address === undefined ? undefined : networkOf(address);
  const all = { email: user.email, ...(network === undefined ? {} : { network }), ...details };
  const who = { kind: 'user', userId: user.id, email: user.email } as const;
  await db.$transaction((tx) =>
    auditInEach(
      tx,
      // Whoever fails to sign in is not known to be the account's owner.
      action === 'account.signInFailed' ? null : who,
      atMs,
      user.members.map(({ orgId }) => orgId),
      { action, target: user.id, details: all },
    ),
  );
  return user.members.length;
}

/** IPv4 as its /24, IPv6 as its /48: enough to tell places apart, not households. */
function networkOf(address: string): string | undefined {
  if (isIPv4(address)) return `${address.split('.').slice(0, 3).join('.')}.0/24`;
  if (!isIPv6(address)) return undefined;
  const [head = ''] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  return `${[...groups, '0', '0', '0'].slice(0, 3).join(':')}::/48`;
}
