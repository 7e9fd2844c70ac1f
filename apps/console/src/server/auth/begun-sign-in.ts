import type { BetterAuthPlugin } from 'better-auth';
import { createAuthEndpoint } from 'better-auth/api';

/** better-auth 1.7.25, plugins/two-factor/constant. */
const COOKIE = 'two_factor';

/**
 * Lets this server, but no browser, ask whose sign-in the browser's cookie continues: its password
 * was right, and it waits for its second step. better-auth reveals that only after a correct second
 * step. This reads the cookie as better-auth does, so that no one can send it in a form that only
 * one of the two understands.
 */
export function begunSignIn() {
  const getBegunSignIn = createAuthEndpoint.serverOnly(
    { method: 'GET', requireHeaders: true },
    async ({
      context,
      getSignedCookie,
    }): Promise<{ readonly id: string; readonly userId: string } | null> => {
      const id = await getSignedCookie(context.createAuthCookie(COOKIE).name, context.secret);
      const step = id ? await context.internalAdapter.findVerificationValue(id) : null;
      return id && step ? { id, userId: step.value } : null;
    },
  );
  return { id: 'begun-sign-in', endpoints: { getBegunSignIn } } satisfies BetterAuthPlugin;
}
