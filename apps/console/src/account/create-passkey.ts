import { type RegistrationResponseJSON, startRegistration } from '@simplewebauthn/browser';
import type { Result } from '@tidegate/control';
import { addPasskey, offerPasskey } from './passkey-actions.ts';

const NOT_MADE =
  'Your browser did not create a passkey. Try again, and confirm with your fingerprint, face, PIN or security key.';
const ALREADY = 'This device already has a passkey for your account.';

/** Checks the password, lets the browser create a passkey, and stores it. */
export async function createPasskey(password: string): Promise<Result<null>> {
  const offer = await offerPasskey(password);
  if (!offer.ok) return offer;
  let answer: RegistrationResponseJSON;
  try {
    answer = await startRegistration({ optionsJSON: offer.value });
  } catch (error) {
    const isKnown = error instanceof Error && error.name === 'InvalidStateError';
    return { ok: false, refusal: { code: 'unavailable', message: isKnown ? ALREADY : NOT_MADE } };
  }
  return addPasskey(answer);
}
