import { headers } from 'next/headers';
import { redirect } from 'next/navigation';
import { services } from '../server/services.ts';
import { passCookiesOn } from './cookies.ts';
import { callerAddress } from './current.ts';
import { signInPath } from './next-path.ts';
import { PROVIDER_AWAY, TOO_MANY } from './words.ts';

/**
 * Sends the browser to the identity provider, and then on to `next`, a path of this console. This
 * counts as an attempt from the address, since it creates a row.
 */
export async function goToProvider(next: string): Promise<never> {
  const { auth, consoleUrl, signIn } = services();
  if ((await signIn.guardAddress(await callerAddress())) !== null) redirect(signInPath(next, TOO_MANY));
  const response = await auth.api.signInSocial({
    body: {
      provider: 'oidc',
      callbackURL: `${consoleUrl}${next}`,
      errorCallbackURL: `${consoleUrl}${signInPath(next)}`,
    },
    headers: new Headers(await headers()),
    asResponse: true,
  });
  await passCookiesOn(response.headers);
  const { url } = (await response.json()) as { url?: string };
  redirect(url ?? signInPath(next, PROVIDER_AWAY));
}
