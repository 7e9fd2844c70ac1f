import { isIP } from 'node:net';
import { passkey } from '@better-auth/passkey';
import { APIError } from 'better-auth';

/**
 * Whether browsers create passkeys for this site. They need a host name and an encrypted
 * connection, or `localhost`.
 */
export function canHavePasskeys(consoleUrl: string): boolean {
  const { protocol, hostname } = new URL(consoleUrl);
  return hostname === 'localhost' || (protocol === 'https:' && isIP(hostname.replace(/[[\]]/g, '')) === 0);
}

/**
 * A passkey stands for the password and the second factor. So its device must check each time who
 * is using it. By itself, the plugin requests that check but does not enforce it.
 */
export const passkeyPlugin = (consoleUrl: string) =>
  passkey({
    rpID: new URL(consoleUrl).hostname,
    rpName: 'Tidegate',
    origin: consoleUrl,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    advanced: { webAuthnChallengeCookie: 'passkey' },
    registration: {
      afterVerification: async ({ verification: { registrationInfo } }) =>
        requireVerifiedUser(registrationInfo?.userVerified),
    },
    authentication: {
      afterVerification: async ({ verification: { authenticationInfo } }) =>
        requireVerifiedUser(authenticationInfo.userVerified),
    },
  });

function requireVerifiedUser(isVerified = false): void {
  if (!isVerified) throw new APIError('UNAUTHORIZED', { code: 'USER_NOT_VERIFIED' });
}
