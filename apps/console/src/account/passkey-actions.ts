'use server';

import type {
  PublicKeyCredentialCreationOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/browser';
import { type Fault, type Result, refuseInput } from '@tidegate/control';
import { headers } from 'next/headers';
import { services } from '../server/services.ts';
import { passCookiesOn } from '../session/cookies.ts';
import { asUser, callerAddress, currentUser } from '../session/current.ts';
import { deviceOf } from './device.ts';
import { FAILED, guarded, WRONG_PASSWORD } from './guarded.ts';

const LAST: Fault = {
  message:
    'This is your only second step. Set up an authenticator app or another passkey first, or turn two-factor off.',
};

/** Checks the password. Returns what the browser needs to create a passkey. */
export const offerPasskey = async (
  password: string,
): Promise<Result<PublicKeyCredentialCreationOptionsJSON>> =>
  guarded(async (own) => {
    const { accounts, passkeys } = services();
    if (!(await accounts.isPassword(password, own))) return refuseInput(WRONG_PASSWORD);
    const offer = await passkeys?.offer(own);
    if (!offer) return refuseInput(FAILED);
    await passCookiesOn(offer.headers);
    return { ok: true, value: offer.options };
  });

export const addPasskey = async (answer: RegistrationResponseJSON): Promise<Result<null>> =>
  asUser(async (actor) => {
    const own = new Headers(await headers());
    const place = deviceOf(own.get('user-agent') ?? '');
    const isFirst = !(await currentUser())?.twoFactor;
    const outcome = await services().passkeys?.add({ answer, place, headers: own });
    if (outcome !== 'added') return refuseInput(FAILED);
    await record('account.addPasskey', actor.userId);
    return isFirst ? services().control.endPageKeys(actor) : { ok: true, value: null };
  });

export const removePasskey = async (id: string, password: string): Promise<Result<null>> =>
  guarded(async (own, { userId }) => {
    if (!(await services().accounts.isPassword(password, own))) return refuseInput(WRONG_PASSWORD);
    const outcome = await services().passkeys?.remove(userId, String(id));
    if (outcome === 'last') return refuseInput(LAST);
    if (outcome === 'removed') await record('account.removePasskey', userId);
    return { ok: true, value: null };
  });

async function record(action: 'account.addPasskey' | 'account.removePasskey', userId: string): Promise<void> {
  await services().recordAccount({ action, account: { userId }, address: await callerAddress() });
}
