'use server';

import type { ControlRefusal } from '@tidegate/control';
import { headers } from 'next/headers';
import { redirect } from 'next/navigation';
import { services } from '../server/services.ts';
import { passCookiesOn } from '../session/cookies.ts';
import { callerAddress, currentUser } from '../session/current.ts';
import { goToProvider } from '../session/provider.ts';

export interface AcceptState {
  readonly name: string;
  readonly refusal: ControlRefusal | null;
}

/**
 * Joins the organization and signs in. Creates an account if the form has its fields. Without
 * passwords the account is its owner's once the identity provider confirms the e-mail.
 */
export async function accept(token: string, _before: AcceptState, form: FormData): Promise<AcceptState> {
  const { control, signIn, passwords } = services();
  const user = await currentUser();
  const name = String(form.get('name') ?? '');
  const password = String(form.get('password') ?? '');
  const account = user ? {} : passwords ? { name, password } : { name, withoutPassword: true };
  const accepted = await control.acceptInvitation(user?.actor ?? null, { token, ...account });
  if (!accepted.ok) return { name, refusal: accepted.refusal };
  const { email, org } = accepted.value;
  if (!user && !passwords) await goToProvider(`/o/${org}/keys`);
  if (!user) {
    const attempt = {
      email,
      password,
      address: await callerAddress(),
      headers: new Headers(await headers()),
    };
    const result = await signIn.withPassword(attempt);
    if (result.outcome !== 'signed in') redirect('/sign-in');
    await passCookiesOn(result.headers);
  }
  redirect(`/o/${org}/keys`);
}
