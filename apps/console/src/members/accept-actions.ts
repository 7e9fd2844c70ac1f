'use server';

import { type ControlRefusal, refuseInput } from '@tidegate/control';
import { headers } from 'next/headers';
import { redirect } from 'next/navigation';
import { services } from '../server/services.ts';
import { passCookiesOn } from '../session/cookies.ts';
import { callerAddress, currentUser } from '../session/current.ts';
import { signInPath } from '../session/next-path.ts';
import { goToProvider } from '../session/provider.ts';
import { JOINED, tooManyAttempts } from '../session/words.ts';

export interface AcceptState {
  readonly name: string;
  readonly refusal: ControlRefusal | null;
}

/**
 * Joins the organization and signs in. Creates an account if the form has its fields. Where
 * passwords are off, the new account has none, and the identity provider lets its owner in once it
 * confirms the e-mail. For someone who is not signed in, this counts as an attempt from their
 * address, since a password may be hashed.
 */
export async function accept(_before: AcceptState, form: FormData): Promise<AcceptState> {
  const { control, signIn, passwords } = services();
  const user = await currentUser();
  const name = String(form.get('name') ?? '');
  const password = String(form.get('password') ?? '');
  const token = String(form.get('token') ?? '');
  const waitS = user ? null : await signIn.guardAddress(await callerAddress());
  if (waitS !== null) return { name, refusal: refuseInput({ message: tooManyAttempts(waitS) }).refusal };
  const account = user ? {} : passwords ? { name, password } : { name, withoutPassword: true };
  const accepted = await control.acceptInvitation(user?.actor ?? null, { token, ...account });
  if (!accepted.ok) return { name, refusal: accepted.refusal };
  const { email, org } = accepted.value;
  const keys = `/o/${org}/keys`;
  if (!user && !passwords) await goToProvider(keys);
  if (!user) {
    const attempt = {
      email,
      password,
      address: await callerAddress(),
      headers: new Headers(await headers()),
    };
    const result = await signIn.withPassword(attempt);
    if (result.outcome !== 'signed in') redirect(signInPath(keys, JOINED));
    await passCookiesOn(result.headers);
  }
  redirect(keys);
}
