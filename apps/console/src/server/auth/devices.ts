import { createHmac, timingSafeEqual } from 'node:crypto';
import { randomBase62 } from '@tidegate/contracts';
import { digest } from './digest.ts';

const LASTS_S = 180 * 86_400;
const ID_CHARACTERS = 20;
/** Enough of the e-mail's digest to keep the cookies of one browser's accounts apart. */
const NAME_CHARACTERS = 12;

/** Browsers in which someone has signed in, known by a signed cookie for each e-mail. */
export interface Devices {
  /**
   * The id of the browser, if its cookies prove that this e-mail signed in there before. Otherwise
   * null.
   */
  idOf(headers: Headers, email: string): string | null;
  /** The Set-Cookie header by which the browser is known from now on. */
  remember(headers: Headers, email: string): string;
}

export interface DevicesOptions {
  /** Signs the cookies. */
  readonly secret: string;
  /** The secret before, while cookies of its time are still to be accepted. */
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
  const sign = (email: string, id: string, endS: string, by = secret) =>
    createHmac('sha256', by)
      .update(`device ${digest(email)} ${id} ${endS}`)
      .digest('base64url');
  const idOf = (headers: Headers, email: string) => {
    const [id = '', endS = '', signature = ''] = cookieOf(headers, nameOf(email)).split('.');
    const isOwn = secrets.some((by) => isEqual(signature, sign(email, id, endS, by)));
    return isOwn && Number(endS) * 1_000 > now() ? id : null;
  };
  return {
    idOf,
    remember(headers, email) {
      const id = idOf(headers, email) ?? randomBase62(ID_CHARACTERS);
      const endS = String(Math.floor(now() / 1_000) + LASTS_S);
      const value = [id, endS, sign(email, id, endS)].join('.');
      const attributes = `Max-Age=${LASTS_S}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
      return `${nameOf(email)}=${value}; ${attributes}`;
    },
  };
}

function cookieOf(headers: Headers, name: string): string {
  const cookies = (headers.get('cookie') ?? '').split(';').map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}

const isEqual = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
