import { createHmac, timingSafeEqual } from 'node:crypto';
import { randomBase62 } from '@tidegate/contracts';
import { digest } from './digest.ts';

const LASTS_S = 180 * 86_400;
const ID_CHARACTERS = 20;
/** Enough of the e-mail's digest to keep the cookies of one browser's accounts apart. */
const NAME_CHARACTERS = 12;
const PURPOSES: Record<Proof, string> = { password: 'device', 'second factor': 'device with second factor' };

/** How someone proved to be the account's owner. A passkey is a second factor, too. */
export type Proof = 'password' | 'second factor';

export interface Device {
  readonly id: string;
  /**
   * The account that signed in. It may have been deleted, and its e-mail may now belong to another
   * account.
   */
  readonly userId: string;
}

interface Owner {
  readonly id: string;
  readonly email: string;
}

/** Browsers in which someone has signed in, known by a signed cookie for each e-mail. */
export interface Devices {
  /**
   * The browser, if its cookies prove that an account with this e-mail signed in there before.
   *
   * @param least `second factor`: a password alone does not count
   */
  known(headers: Headers, email: string, least?: Proof): Device | null;
  /** The answer's headers, with the cookie by which the browser is known from now on. */
  remember(answer: Response, headers: Headers, owner: Owner, by: Proof): Headers;
}

type Signed = readonly [userId: string, id: string, endS: string];

export interface DevicesOptions {
  /** Signs the cookies. */
  readonly secret: string;
  /** The previous secret, while cookies from its time are still accepted. */
  readonly previousSecret?: string | undefined;
  readonly consoleUrl: string;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export function createDevices({ secret, previousSecret, consoleUrl, now }: DevicesOptions): Devices {
  const secure = consoleUrl.startsWith('https://');
  const nameOf = (email: string) =>
    `${secure ? '__Secure-' : ''}tidegate.device.${digest(email).slice(0, NAME_CHARACTERS)}`;
  const secrets = previousSecret ? [secret, previousSecret] : [secret];
  // The purpose is signed as well: the secret also signs other cookies.
  const sign = (by: Proof, email: string, [userId, id, endS]: Signed, key = secret) =>
    createHmac('sha256', key)
      .update(`${PURPOSES[by]} ${digest(email)} ${userId} ${id} ${endS}`)
      .digest('base64url');
  const known = (headers: Headers, email: string, least: Proof = 'password'): Device | null => {
    const [userId = '', id = '', endS = '', signature = ''] = cookieOf(headers, nameOf(email)).split('.');
    const proofs: readonly Proof[] = least === 'password' ? ['password', 'second factor'] : [least];
    const isOwn = proofs.some((by) =>
      secrets.some((key) => isEqual(signature, sign(by, email, [userId, id, endS], key))),
    );
    return isOwn && Number(endS) * 1_000 > now() ? { id, userId } : null;
  };
  return {
    known,
    remember(answer, headers, { id: userId, email }, by) {
      const before = known(headers, email);
      const id = before?.userId === userId ? before.id : randomBase62(ID_CHARACTERS);
      const endS = String(Math.floor(now() / 1_000) + LASTS_S);
      const value = [userId, id, endS, sign(by, email, [userId, id, endS])].join('.');
      const attributes = `Max-Age=${LASTS_S}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
      const all = new Headers(answer.headers);
      all.append('set-cookie', `${nameOf(email)}=${value}; ${attributes}`);
      return all;
    },
  };
}

function cookieOf(headers: Headers, name: string): string {
  const cookies = (headers.get('cookie') ?? '').split(';').map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}

const isEqual = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
