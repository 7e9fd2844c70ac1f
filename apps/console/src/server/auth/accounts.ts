import type { Db } from '@tidegate/db';

export interface Accounts {
  hasPassword(userId: string): Promise<boolean>;
}

export const createAccounts = (db: Db): Accounts => ({
  hasPassword: async (userId) =>
    (await db.account.count({ where: { userId, providerId: 'credential' } })) > 0,
});
