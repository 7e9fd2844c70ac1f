const REDACTED = '[redacted]';

/** Members whose value is never written, at any depth. */
const SECRET_MEMBER =
  /"(authorization|proxy-authorization|cookie|set-cookie|password|secret|secret_?key|api_?key|upstream_?key|x-api-key|token|service_?tokens?)":"(?:[^"\\]|\\.)*"/gi;
/**
 * A key, or more of one than lists show. After a letter, only a long match counts: "multi_tenancy"
 * is not a key.
 */
const KEY_VALUE = /(?<![0-9A-Za-z])ti_[0-9A-Za-z]{7,}|ti_[0-9A-Za-z]{40,}/g;
const BEARER = /\b(Bearer|Basic)\s+(?:[^\s"\\]|\\.)+/gi;
const URL_PASSWORD = /(:\/\/[^\s:@/"\\]*):[^\s@/"\\]+@/g;

/**
 * Removes from a line of JSON what no log may contain: key values, credentials, passwords in URLs.
 */
export const redact = (line: string): string =>
  line
    .replace(SECRET_MEMBER, `"$1":"${REDACTED}"`)
    .replace(KEY_VALUE, `ti_${REDACTED}`)
    .replace(BEARER, `$1 ${REDACTED}`)
    .replace(URL_PASSWORD, `$1:${REDACTED}@`);
