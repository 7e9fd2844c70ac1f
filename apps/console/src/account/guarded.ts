import { type Fault, type Result, refuseInput } from '@tidegate/control';
import { headers } from 'next/headers';
import { services } from '../server/services.ts';
import { asUser, callerAddress, type UserActor } from '../session/current.ts';
import { tooManyAttempts } from '../session/words.ts';

export const FAILED: Fault = {
  message: 'That did not work. Reload the page and try again.',
};
export const WRONG_PASSWORD: Fault = { field: 'password', message: 'This is not your password.' };

/** Runs an action for the signed-in user. It counts as an attempt to sign in. */
export const guarded = async <T>(
  action: (own: Headers, actor: UserActor) => Promise<Result<T>>,
): Promise<Result<T>> =>
  asUser(async (actor) => {
    const own = new Headers(await headers());
    const waitS = await services().signIn.guard(await callerAddress(), actor.email, own);
    if (waitS !== null) return refuseInput({ message: tooManyAttempts(waitS) });
    return action(own, actor);
  });
