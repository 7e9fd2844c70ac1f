const S_A_MINUTE = 60;

export function tooManyAttempts(retryAfterS: number): string {
  const minutes = Math.ceil(retryAfterS / S_A_MINUTE);
  return `Too many attempts. Try again in ${minutes} minute${minutes === 1 ? '' : 's'}.`;
}

/** Of this console: the provider gave no page to send the browser to. */
export const PROVIDER_AWAY = 'provider';
/** Of the auth library: the provider knows someone whom this console does not, or whose e-mail it has not verified. */
const NO_ACCOUNT = new Set(['signup_disabled', 'account_not_linked']);

/** Why the identity provider signed nobody in, by the `error` in the sign-in page's address. Null: nothing went wrong. */
export function providerTrouble(error: string | undefined): string | null {
  if (error === undefined) return null;
  if (error === PROVIDER_AWAY) return 'The identity provider could not be reached. Try again in a moment.';
  return NO_ACCOUNT.has(error)
    ? 'That did not work: there is no account for you here yet. Ask an owner for an invitation.'
    : 'The identity provider did not confirm who you are. Try again.';
}
