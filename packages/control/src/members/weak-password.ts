import type { Fault } from '../result.ts';

/** What people append to a word: `sunshine2026!`. */
const APPENDED = /\P{L}{1,5}$/u;
/** Characters in a name or a password that do not make it a different word. */
const NOT_WORD = /[^\p{L}\p{N}]/gu;
const PRODUCT = 'tidegate';
const MESSAGE =
  'Password is too easy to guess. It must not be a common one, the e-mail address or a part of it, or the name of Tidegate or of an organization of the account.';

/**
 * The fault of a password that attackers try first: one of the 49,000 most common ones, or the
 * e-mail, one of its parts or the name of an organization of the account, even with a few digits or
 * signs at the end.
 *
 * @param field the field that the fault names
 */
export async function weakPassword(
  password: string,
  about: { readonly email: string; readonly orgs: readonly string[] },
  field = 'password',
): Promise<Fault | null> {
  const common = await commonPasswords();
  // Passwords are hashed in this form. So full-width letters, for example, are the same password.
  const lower = password.normalize('NFKC').toLowerCase();
  const forms = [lower, lower.replace(APPENDED, '')];
  const names = namesOf(about);
  const isWeak = forms.some((form) => common.has(form) || names.has(form.replace(NOT_WORD, '')));
  return isWeak ? { field, message: MESSAGE } : null;
}

function namesOf({ email, orgs }: { email: string; orgs: readonly string[] }): Set<string> {
  const [person = '', host = ''] = email.split('@');
  const names = [PRODUCT, email, person, host, ...person.split(/[.+_-]/), ...host.split('.'), ...orgs];
  return new Set(names.map((name) => name.toLowerCase().replace(NOT_WORD, '')).filter((name) => name !== ''));
}

let loaded: Promise<ReadonlySet<string>> | undefined;

/** Loaded with the first password, because most operations do not need the list. */
function commonPasswords(): Promise<ReadonlySet<string>> {
  loaded ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common']),
  );
  return loaded;
}
