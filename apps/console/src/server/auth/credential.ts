import { CREDENTIAL } from '@tidegate/control';
import type { Db } from '@tidegate/db';

/** What an account signs in with. */
interface Credential {
  readonly userId: string;
  readonly password: string | null;
  readonly user: { readonly twoFactorEnabled: boolean };
}

/**
 * Null: there is no account, or it has no password. Whatever changes a credential ends the
 * account's sessions, but not one that a sign-in under way has yet to create. So a sign-in reads
 * the credential before and after.
 */
export const credentialOf = async (db: Db, email: string): Promise<Credential | null> =>
  // Postgres refuses such text.
  email.includes('\0')
    ? null
    : db.account.findFirst({
        where: { providerId: CREDENTIAL, user: { email } },
        select: { userId: true, password: true, user: { select: { twoFactorEnabled: true } } },
      });
