import type { Control } from '@tidegate/control';
import type { Db } from '@tidegate/db';

/** Ends the page keys of a user whose sessions have ended. */
export type EndPageKeys = (userId: string) => Promise<void>;

/** If no limiter can be reached, the keys are refused within a minute of one being back. */
export const pageKeysEndedBy =
  (db: Db, control: Pick<Control, 'endPageKeys'>): EndPageKeys =>
  async (userId) => {
    const user = await db.user.findUnique({ where: { id: userId }, select: { email: true } });
    if (user) await control.endPageKeys({ kind: 'user', userId, email: user.email });
  };
