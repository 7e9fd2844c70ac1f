import { LIMITS } from '@tidegate/limits';
import { counted } from '../ui/numbers.ts';

const { min, max } = LIMITS.passwordCharacters;
/** Beside a field for a new password. */
export const PASSWORD_HINT = `${min} to ${max} characters.`;

const S_A_MINUTE = 60;

const MS_A_MINUTE = 1_000 * S_A_MINUTE;
const MINUTES_AN_HOUR = 60;

export const tooManyAttempts = (retryAfterS: number): string =>
  `Too many attempts. Try again in ${counted(Math.ceil(retryAfterS / S_A_MINUTE), 'minute')}.`;

/** A time in whole hours if it can be, otherwise in minutes: "8 hours", "90 minutes". */
export function timeInWords(ms: number): string {
  const minutes = Math.round(ms / MS_A_MINUTE);
  return minutes % MINUTES_AN_HOUR === 0
    ? counted(minutes / MINUTES_AN_HOUR, 'hour')
    : counted(minutes, 'minute');
}

/** What an action answers once the session has ended. */
export const SIGNED_OUT = 'You have been signed out. Sign in again.';

/** This console's own error: the provider gave no page to redirect to. */
export const PROVIDER_AWAY = 'provider';
/**
 * Errors of the auth library. The console has no account for the user, or the provider has not
 * verified the e-mail.
 */
const NO_ACCOUNT = new Set(['signup_disabled', 'account_not_linked']);
/** The account with this e-mail has another identity at the provider. */
const OTHER_IDENTITY = 'unable_to_link_account';

/** This console's own error: a sign-in ended before its second step. */
export const SIGN_IN_OVER = 'over';

/** This console's own error: the address has used up its attempts of this minute. */
export const TOO_MANY = 'attempts';

/** This console's own error: someone has joined with a new account, and must sign in by hand. */
export const JOINED = 'joined';

/** Explains the `error` parameter of the sign-in page. Null: nothing went wrong. */
export function signInTrouble(error: string | undefined): string | null {
  if (error === undefined) return null;
  if (error === PROVIDER_AWAY) return 'The identity provider could not be reached. Try again in a moment.';
  if (error === OTHER_IDENTITY)
    return 'The account with your e-mail belongs to another identity at the provider. Ask an operator.';
  if (error === TOO_MANY) return tooManyAttempts(S_A_MINUTE);
  if (error === JOINED)
    return 'You have joined, but could not be signed in right away. Sign in with your new password in a minute.';
  if (error === SIGN_IN_OVER) return 'The sign-in took too long, or had too many wrong codes. Start again.';
  return NO_ACCOUNT.has(error)
    ? 'That did not work: there is no account for you here yet. Ask an owner for an invitation.'
    : 'The identity provider did not confirm who you are. Try again.';
}
