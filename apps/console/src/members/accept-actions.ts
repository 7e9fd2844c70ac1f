'use server';

import type { ControlRefusal } from '@tidegate/control';
import { headers } from 'next/headers';
import { redirect } from 'next/navigation';
import { services } from '../server/services.ts';
import { passCookiesOn } from '../session/cookies.ts';
import { callerAddress, currentUser } from '../session/current.ts';

export interface AcceptState {
  readonly name: string;
  readonly refusal: ControlRefusal | null;
}

/** Joins the organization and signs in. Creates an account if the form has its fields. */
export async function accept(token: string, _before: AcceptState, form: FormData): Promise<AcceptState> {
  const { control, signIn } = services();
  const user = await currentUser();
  const name = String(form.get('name') ?? '');
  const password = String(form.get('password') ?? '');
  const account = user ? {} : { name, password };
  const accepted = await control.acceptInvitation(user?.actor ?? null, { token, ...account });
  if (!accepted.ok) return { name, refusal: accepted.refusal };
  const { email, org } = accepted.value;
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
