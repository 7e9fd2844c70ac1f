import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { BetterAuthPlugin } from 'better-auth';
import { createAuthMiddleware } from 'better-auth/api';

/*
 * Replaces the secret that signs cookies, without signing anyone out. better-auth 1.7.25 takes
 * several secrets for encryption (`secrets`), but verifies cookies with the current one only.
 */

/** The form of better-auth's `secrets`, the current one first. */
export const versioned = (secrets: readonly string[]) =>
  secrets.map((value) => ({ version: versionOf(value), value }));

/**
 * The number by which an encrypted value names its secret. It is made from the secret, so that it
 * stays the same when the current secret becomes the previous one.
 */
const versionOf = (secret: string): number =>
  createHash('sha256').update('tidegate auth secret').update(secret).digest().readUInt32BE() >>> 1;

/**
 * Accepts cookies that the previous secret signed, as if the current one had signed them. Browsers
 * keep their old cookies, so giving up the previous secret signs them out.
 */
export function acceptPrevious(current: string, previous: string): BetterAuthPlugin {
  const handler = createAuthMiddleware(async ({ request, headers: given }) => {
    const cookies = (given ?? request?.headers)?.get('cookie');
    const signed = cookies && resigned(cookies, current, previous);
    if (!signed || signed === cookies) return;
    const headers = new Headers(given ?? request?.headers);
    headers.set('cookie', signed);
    return { context: { headers } };
  });
  return { id: 'previous-secret', hooks: { before: [{ matcher: () => true, handler }] } };
}

const signatureOf = (value: string, secret: string): Buffer =>
  createHmac('sha256', secret).update(value).digest();

/** Signs again those values of a Cookie header that the previous secret signed. */
function resigned(cookies: string, current: string, previous: string): string {
  const parts = cookies.split(';').map((part) => {
    const [, name, text = ''] = /^\s*([^\s=][^=]*)=(.*)$/.exec(part) ?? [];
    const value = signedValue(text, previous);
    if (name === undefined || value === null) return part;
    const signature = signatureOf(value, current).toString('base64');
    return ` ${name}=${encodeURIComponent(`${value}.${signature}`)}`;
  });
  return parts.join(';').trim();
}

/** Null: this secret did not sign it. */
function signedValue(text: string, secret: string): string | null {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    return null;
  }
  const dot = decoded.lastIndexOf('.');
  if (dot < 1) return null;
  const value = decoded.slice(0, dot);
  const given = Buffer.from(decoded.slice(dot + 1), 'base64');
  const wanted = signatureOf(value, secret);
  return given.length === wanted.length && timingSafeEqual(given, wanted) ? value : null;
}
