'use server';

import { type Result, refuseInput } from '@tidegate/control';
import { services } from '../server/services.ts';
import { asUser } from '../session/current.ts';

/** Ends another session of the account. */
export const endSession = async (id: string): Promise<Result<null>> =>
  asUser(async ({ userId }) =>
    (await services().sessions.end(userId, id))
      ? { ok: true, value: null }
      : refuseInput({ message: 'This session has ended already.' }),
  );
