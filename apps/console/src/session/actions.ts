'use server';

import {
  type ControlRefusal,
  type Fault,
  PASSWORD_RULE,
  type Result,
  refuseInput,
  weakPassword,
} from '@tidegate/control';
import { LIMITS } from '@tidegate/limits';
import { headers } from 'next/headers';
import { redirect } from 'next/navigation';
import { services } from '../server/services.ts';
import { passCookiesOn } from './cookies.ts';
import { asUser, callerAddress, currentUser, membershipsOf } from './current.ts';
import { sameSitePath, secondStepPath, signInPath } from './next-path.ts';
import { goToProvider } from './provider.ts';
import { SIGN_IN_OVER, SIGNED_OUT, tooManyAttempts } from './words.ts';

const MAX_CODE_CHARACTERS = 40;
const { min: MIN_PASSWORD, max: MAX_PASSWORD } = LIMITS.passwordCharacters;

export interface SignInState {
  readonly email: string;
  readonly refusal: ControlRefusal | null;
}

/** The sign-in form's action. It also works before any script has loaded. */
export async function signIn(_before: SignInState, form: FormData): Promise<SignInState> {
  const email = String(form.get('email') ?? '').slice(0, 254);
  const password = String(form.get('password') ?? '').slice(0, MAX_PASSWORD);
  const refused = (...faults: [Fault, ...Fault[]]) => ({ email, refusal: refuseInput(...faults).refusal });
  const [missing, ...more] = [
    ...(email.trim() === '' ? [{ field: 'email', message: 'Enter your e-mail.' }] : []),
    ...(password === '' ? [{ field: 'password', message: 'Enter your password.' }] : []),
  ];
  if (missing) return refused(missing, ...more);
  const attempt = { email, password, address: await callerAddress(), headers: new Headers(await headers()) };
  const result = await services().signIn.withPassword(attempt);
  if (result.outcome === 'wrong') return refused({ message: 'The e-mail or password is wrong.' });
  if (result.outcome === 'too many') return refused({ message: tooManyAttempts(result.retryAfterS) });
  await passCookiesOn(result.headers);
  const next = sameSitePath(form.get('next'));
  redirect(result.outcome === 'second step' ? secondStepPath(next) : next);
}

/** The action of the form after the password. It also works before any script has loaded. */
export async function completeSignIn(
  _before: ControlRefusal | null,
  form: FormData,
): Promise<ControlRefusal | null> {
  const next = sameSitePath(form.get('next'));
  if (await currentUser()) redirect(next);
  const code = String(form.get('code') ?? '').slice(0, MAX_CODE_CHARACTERS);
  const refused = (message: string) => refuseInput({ field: 'code', message }).refusal;
  if (code.trim() === '') return refused('Enter the code.');
  const step = await services().secondFactor.complete({ code, headers: new Headers(await headers()) });
  if (step.outcome === 'wrong')
    return refused('This code is wrong or has already been used. Enter the one that your app shows now.');
  if (step.outcome === 'locked')
    return refused('There were too many wrong codes for this account. Try again in 15 minutes.');
  if (step.outcome === 'no app')
    return refused('This account has no authenticator app. Use a passkey, or one of your recovery codes.');
  if (step.outcome === 'unreadable')
    return refused('The console can no longer read this second factor. Ask an operator to reset it.');
  if (step.outcome === 'over') redirect(signInPath(next, SIGN_IN_OVER));
  await passCookiesOn(step.headers);
  redirect(next);
}

/** Sends the browser to the identity provider. */
export async function signInWithProvider(form: FormData): Promise<void> {
  await goToProvider(sameSitePath(form.get('next')));
}

/** Ends the session, and the user's page keys. */
export async function signOut(): Promise<void> {
  const user = await currentUser();
  await endSession();
  // If no limiter can be reached now, the keys are refused within a minute of one being back.
  if (user) await services().control.endPageKeys(user.actor);
  redirect('/sign-in');
}

async function endSession(): Promise<void> {
  const response = await services().auth.api.signOut({
    headers: new Headers(await headers()),
    asResponse: true,
  });
  await passCookiesOn(response.headers);
}

/** Ends every session of the account, including this one, and its page keys. */
export const signOutEverywhere = async (): Promise<Result<null>> =>
  // Without a session, nothing says whose sessions to end.
  asUser(async (actor) => {
    await services().auth.api.revokeSessions({ headers: new Headers(await headers()) });
    await endSession();
    return services().control.endPageKeys(actor);
  });

const WRONG_CURRENT: Fault = {
  field: 'current',
  message: 'This is not your current password. Enter the one you sign in with.',
};
const PASSWORD_FAULT: Fault = { field: 'next', message: PASSWORD_RULE };

/** Changes the password, and ends all other sessions and page keys. */
export async function changePassword(current: string, next: string): Promise<Result<null>> {
  const { accounts, signIn: attempts } = services();
  const user = await currentUser();
  if (!user) return refuseInput({ message: SIGNED_OUT });
  if (typeof current !== 'string' || typeof next !== 'string') return refuseInput(PASSWORD_FAULT);
  if (!(await accounts.hasPassword(user.actor.userId)))
    return refuseInput({ message: 'You sign in without a password.' });
  const own = new Headers(await headers());
  const waitS = await attempts.guard(await callerAddress(), user.actor.email, own);
  if (waitS !== null) return refuseInput({ message: tooManyAttempts(waitS) });
  const about = { email: user.actor.email, orgs: (await membershipsOf(user)).map(({ name }) => name) };
  const fault =
    next.length < MIN_PASSWORD || next.length > MAX_PASSWORD
      ? PASSWORD_FAULT
      : await weakPassword(next, about, 'next');
  if (fault) {
    const isRight = await accounts.isPassword(current, own);
    return isRight ? refuseInput(fault) : refuseInput(WRONG_CURRENT, fault);
  }
  const result = await accounts.changePassword({ current, next, headers: own });
  if (result.outcome === 'wrong') return refuseInput(WRONG_CURRENT);
  if (result.outcome === 'failed')
    return refuseInput({ message: 'The password could not be changed now. Try again later.' });
  await services().recordAccount({
    action: 'account.changePassword',
    account: { userId: user.actor.userId },
    address: await callerAddress(),
  });
  await passCookiesOn(result.headers);
  return services().control.endPageKeys(user.actor);
}
