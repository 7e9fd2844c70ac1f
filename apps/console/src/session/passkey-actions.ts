'use server';

import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { type Result, refuseInput } from '@tidegate/control';
import { headers } from 'next/headers';
import { services } from '../server/services.ts';
import { passCookiesOn } from './cookies.ts';
import { callerAddress } from './current.ts';
import { sameSitePath } from './next-path.ts';
import { tooManyAttempts } from './words.ts';

/** Both steps count as an attempt from the address: each creates a row or checks a signature. */
async function refusedAddress() {
  const waitS = await services().signIn.guardAddress(await callerAddress());
  return waitS === null ? null : refuseInput({ message: tooManyAttempts(waitS) });
}

export async function passkeyChallenge(): Promise<Result<PublicKeyCredentialRequestOptionsJSON>> {
  const { passkeys } = services();
  if (!passkeys) return refuseInput({ message: 'Passkeys are not in use here.' });
  const refused = await refusedAddress();
  if (refused) return refused;
  const { options, headers: cookies } = await passkeys.challenge(new Headers(await headers()));
  await passCookiesOn(cookies);
  return { ok: true, value: options };
}

/** @returns the path to continue to */
export async function signInWithPasskey(
  answer: AuthenticationResponseJSON,
  next: string,
): Promise<Result<string>> {
  const refused = await refusedAddress();
  if (refused) return refused;
  const step = await services().passkeys?.signIn({ answer, headers: new Headers(await headers()) });
  if (step?.outcome !== 'signed in')
    return refuseInput({ message: 'This passkey is not in use here. Sign in with your password.' });
  await passCookiesOn(step.headers);
  return { ok: true, value: sameSitePath(next) };
}
