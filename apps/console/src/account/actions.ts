'use server';

import { type DeletedAccountView, type Result, refuseInput } from '@tidegate/control';
import { services } from '../server/services.ts';
import { asUser } from '../session/current.ts';

/** The account's e-mail, typed by the user, confirms it. */
export const deleteAccount = async (email: string): Promise<Result<DeletedAccountView>> =>
  asUser((actor) => services().control.deleteAccount(actor, { email }));

/** Ends another session of the account, and its page keys. */
export const endSession = async (id: string): Promise<Result<null>> =>
  asUser(async (actor) =>
    (await services().sessions.end(actor.userId, id))
      ? services().control.endPageKeys(actor)
      : refuseInput({ message: 'This session has ended already.' }),
  );
