const MIN_CHARACTERS = 8;
const MIN_DIFFERENT = 6;
/** What examples, tests and hasty people use. */
const WORDS =
  /password|passw0rd|changeme|example|secret|tidegate|postgres|default|12345678|abcdefgh|qwerty|admin|demo|test/gi;
const REPEATED = /^(.{1,16})\1+$/;
/** The login and the host of a URL: if it names several hosts, the first one. */
const URL_LOGIN = /^[\w+.-]+:\/\/(?:([^@/?#]*)@)?(\[[^\]]*\]|[^:/?#,]*)/;
/** What precedes each secret in a list. */
const NAMED = /^\w+:(?=.)/;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|)$/i;

/**
 * True if someone could guess a secret: it is short, has few different characters, repeats itself,
 * or is made of the words of examples. In a URL, only the password is judged, and not even that if
 * the URL leads to this machine. In a list `NAME:SECRET,...`, each secret is judged. A truly random
 * secret is never refused by chance.
 */
export const isGuessable = (setting: string): boolean => secretsIn(setting).some(isWeak);

function secretsIn(setting: string): string[] {
  const [url, login = '', host = ''] = URL_LOGIN.exec(setting) ?? [];
  if (url === undefined) {
    const entries = setting.split(/[\s,]+/);
    return entries.every((entry) => NAMED.test(entry))
      ? entries.map((entry) => entry.replace(NAMED, ''))
      : [setting];
  }
  const password = login.includes(':') ? login.slice(login.indexOf(':') + 1) : '';
  return password === '' || LOOPBACK.test(host) ? [] : [password];
}

function isWeak(secret: string): boolean {
  if (new Set(secret).size < MIN_DIFFERENT || REPEATED.test(secret)) return true;
  return secret.replace(WORDS, '').length < MIN_CHARACTERS;
}
