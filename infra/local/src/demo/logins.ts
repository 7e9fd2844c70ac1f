import { parseApiKey } from '@tidegate/contracts';
import { hasPassword } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import type { Secrets } from '../secrets.ts';

/** The logins of the demo that the stack has created. Null: this one no longer works. */
export interface DemoLogins {
  readonly owner: Secrets['owner'] | null;
  /** The key's value. */
  readonly apiKey: string | null;
}

/**
 * Finds out which logins still work. The user may have changed the password, deleted the account or
 * revoked the key. Or the database is older than this data folder, and has another account of that
 * name.
 */
export async function loginsOf(db: Db, { owner, demo }: Secrets): Promise<DemoLogins> {
  const signsIn = await hasPassword(db, owner.email, owner.password);
  const apiKey = demo?.apiKey ?? '';
  const hash = Uint8Array.from(parseApiKey(apiKey)?.hash ?? []);
  const key = await db.apiKey.findFirst({ where: { hash, revokedAt: null } });
  return { owner: signsIn ? owner : null, apiKey: key ? apiKey : null };
}
