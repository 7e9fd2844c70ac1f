'use server';

import { type Fault, type Result, refuseInput } from '@tidegate/control';
import { headers } from 'next/headers';
import { encode } from 'uqr';
import { services } from '../server/services.ts';
import { passCookiesOn } from '../session/cookies.ts';
import { asUser, callerAddress, currentUser, type UserActor } from '../session/current.ts';
import { FAILED, guarded, WRONG_PASSWORD } from './guarded.ts';

export interface NewApp {
  /** The secret, to type into an app that cannot scan. */
  readonly secret: string;
  /** The QR code: modules per side, including its margin, and the dark modules as an SVG path. */
  readonly qr: { readonly size: number; readonly path: string };
  readonly recoveryCodes: readonly string[];
}

const WRONG_CODE: Fault = {
  field: 'code',
  message: 'This is not the code that the app shows now. Check the clock on its device.',
};

/** Takes the user from before the change, because turning two-factor on replaces the session. */
async function recordChange(
  { userId }: UserActor,
  action:
    | 'account.enableTwoFactor'
    | 'account.disableTwoFactor'
    | 'account.addApp'
    | 'account.renewRecoveryCodes',
): Promise<void> {
  await services().recordAccount({ action, account: { userId }, address: await callerAddress() });
}

export const beginTwoFactor = async (password: string): Promise<Result<NewApp>> =>
  guarded(async (own, actor) => {
    const begun = await services().secondFactor.begin({ password, headers: own });
    if (begun.outcome !== 'begun') return refuseInput(begun.outcome === 'wrong' ? WRONG_PASSWORD : FAILED);
    const { uri, recoveryCodes } = begun;
    if ((await currentUser())?.twoFactor) await recordChange(actor, 'account.renewRecoveryCodes');
    const secret = new URL(uri).searchParams.get('secret') ?? '';
    return { ok: true, value: { secret, qr: qrOf(uri), recoveryCodes } };
  });

/** Not limited: the code of the user's own new app is not a secret worth guessing. */
export const confirmTwoFactor = async (code: string): Promise<Result<null>> =>
  asUser(async (actor) => {
    if (typeof code !== 'string') return refuseInput(WRONG_CODE);
    const own = new Headers(await headers());
    const confirmed = await services().secondFactor.confirm({ code, headers: own });
    if (confirmed.outcome !== 'changed')
      return refuseInput(confirmed.outcome === 'wrong' ? WRONG_CODE : FAILED);
    const isFirst = !(await currentUser())?.twoFactor;
    await recordChange(actor, isFirst ? 'account.enableTwoFactor' : 'account.addApp');
    await passCookiesOn(confirmed.headers);
    return isFirst ? services().control.endPageKeys(actor) : { ok: true, value: null };
  });

export const renewRecoveryCodes = async (password: string): Promise<Result<readonly string[]>> =>
  guarded(async (own, actor) => {
    const renewed = await services().secondFactor.renewCodes({ password, headers: own });
    if (renewed.outcome !== 'renewed')
      return refuseInput(renewed.outcome === 'wrong' ? WRONG_PASSWORD : FAILED);
    await recordChange(actor, 'account.renewRecoveryCodes');
    return { ok: true, value: renewed.recoveryCodes };
  });

export const removeTwoFactor = async (password: string): Promise<Result<null>> =>
  guarded(async (own, actor) => {
    const removed = await services().secondFactor.remove({ password, headers: own });
    if (removed.outcome !== 'removed')
      return refuseInput(removed.outcome === 'wrong' ? WRONG_PASSWORD : FAILED);
    await recordChange(actor, 'account.disableTwoFactor');
    // Organizations that require it are now closed to the user.
    return services().control.endPageKeys(actor);
  });

function qrOf(text: string): NewApp['qr'] {
  const { size, data } = encode(text, { ecc: 'M', border: 3 });
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')));
  return { size, path: path.join('') };
}
