const REDACTED = '[redacted]';

/** Names of members whose value is never written, wherever they stand. */
const SECRET_MEMBER =
  /"(authorization|proxy-authorization|cookie|set-cookie|password|secret|secret_?key|api_?key|upstream_?key|x-api-key)":"(?:[^"\\]|\\.)*"/gi;
/** More than the first characters that lists show of a key. Not after a letter: "multi_tenancy" is no key. */
const KEY_VALUE = /(?<![0-9A-Za-z])ti_[0-9A-Za-z]{7,}|ti_[0-9A-Za-z]{40,}/g;
const BEARER = /\b(Bearer|Basic)\s+(?:[^\s"\\]|\\.)+/gi;
const URL_PASSWORD = /(:\/\/[^\s:@/"\\]*):[^\s@/"\\]+@/g;

/** A line of JSON without the values that no log may hold: key values, credentials, passwords in URLs. */
export const redact = (line: string): string =>
  line
    .replace(SECRET_MEMBER, `"$1":"${REDACTED}"`)
    .replace(KEY_VALUE, `ti_${REDACTED}`)
    .replace(BEARER, `$1 ${REDACTED}`)
    .replace(URL_PASSWORD, `$1:${REDACTED}@`);
