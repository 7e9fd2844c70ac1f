'use server';

import type { DeletedAccountView, Result } from '@tidegate/control';
import { services } from '../server/services.ts';
import { asUser } from '../session/current.ts';

/** The account's e-mail, typed by the user, confirms it. */
export const deleteAccount = async (email: string): Promise<Result<DeletedAccountView>> =>
  asUser((actor) => services().control.deleteAccount(actor, { email }));
