import { parseSetCookieHeader } from 'better-auth/cookies';
import { cookies } from 'next/headers';

/** Passes the cookies of an auth library response on to the browser. */
export async function passCookiesOn(from: Headers): Promise<void> {
  const jar = await cookies();
  for (const header of from.getSetCookie()) {
    for (const [name, { value, ...attributes }] of parseSetCookieHeader(header)) {
      jar.set(name, decodeURIComponent(value), {
        path: attributes.path ?? '/',
        httpOnly: true,
        sameSite: 'lax',
        secure: attributes.secure ?? false,
        ...(attributes['max-age'] === undefined ? {} : { maxAge: Number(attributes['max-age']) }),
      });
    }
  }
}
