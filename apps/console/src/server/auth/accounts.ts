import { CREDENTIAL } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import type { Auth } from './auth.ts';

export interface PasswordChange {
  readonly current: string;
  readonly next: string;
  /** Contain the user's session cookie. */
  readonly headers: Headers;
}

export type ChangeOutcome =
  /** All other sessions have ended. `headers` contain the cookie of the remaining one. */
  | { readonly outcome: 'changed'; readonly headers: Headers }
  | { readonly outcome: 'wrong' }
  | { readonly outcome: 'failed' };

export interface Accounts {
  /** Whether the user can sign in with a password. */
  hasPassword(userId: string): Promise<boolean>;
  /** Checks the password of the user whose session cookie `headers` contain. */
  isPassword(password: string, headers: Headers): Promise<boolean>;
  changePassword(change: PasswordChange): Promise<ChangeOutcome>;
}

interface AccountsOptions {
  readonly db: Db;
  readonly auth: Auth;
  /** Whether passwords are in use at all. */
  readonly passwords: boolean;
}

export const createAccounts = ({ db, auth, passwords }: AccountsOptions): Accounts => ({
  hasPassword: async (userId) =>
    passwords && (await db.account.count({ where: { userId, providerId: CREDENTIAL } })) > 0,
  async isPassword(password, headers) {
    const { ok } = await auth.api.verifyPassword({ body: { password }, headers, asResponse: true });
    return ok;
  },
  async changePassword({ current, next, headers }) {
    const body = { currentPassword: current, newPassword: next, revokeOtherSessions: true };
    const response = await auth.api.changePassword({ body, headers, asResponse: true });
    if (response.ok) {
      const { user } = (await response.json()) as { readonly user: { readonly id: string } };
      // A second step that was begun with the old password would still open a session.
      await db.verification.deleteMany({ where: { value: user.id } });
      return { outcome: 'changed', headers: response.headers };
    }
    const { code } = (await response.json().catch(() => ({}))) as { readonly code?: string };
    return { outcome: code === WRONG_PASSWORD_CODE ? 'wrong' : 'failed' };
  },
});

const WRONG_PASSWORD_CODE = 'INVALID_PASSWORD';
