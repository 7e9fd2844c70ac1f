import { parseApiKey } from '@tidegate/contracts';
import { hasPassword } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import type { Secrets } from '../secrets.ts';

/** The ways into the demo that the stack has made. Null: it no longer works. */
export interface DemoLogins {
  readonly owner: Secrets['owner'] | null;
  /** The key's value. */
  readonly apiKey: string | null;
}

/**
 * Finds out which of them still work. The user may have changed the password, deleted the account
 * or revoked the key. Or the database was there before this data folder, and has an account of its
 * own.
 */
export async function loginsOf(db: Db, { owner, demo }: Secrets): Promise<DemoLogins> {
  const signsIn = await hasPassword(db, owner.email, owner.password);
  const apiKey = demo?.apiKey ?? '';
  const hash = Uint8Array.from(parseApiKey(apiKey)?.hash ?? []);
  const key = await db.apiKey.findFirst({ where: { hash, revokedAt: null } });
  return { owner: signsIn ? owner : null, apiKey: key ? apiKey : null };
}
