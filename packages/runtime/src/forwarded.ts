import type { Logger } from './logger.ts';

const NAME = 'x-forwarded-for';

/**
 * Returns a check of requests' headers that warns once if a proxy seems to be in front although
 * none is configured: then all callers count as one address, and one of them can block the others.
 *
 * @returns the check, which takes names and values in turn, like Node's `rawHeaders`
 */
export function createProxyWarning(
  trustedProxies: number,
  log: Pick<Logger, 'warn'>,
): (rawHeaders: readonly string[]) => void {
  let due = trustedProxies === 0;
  return (rawHeaders) => {
    if (!due || !hasName(rawHeaders)) return;
    due = false;
    log.warn(
      'X-Forwarded-For is ignored: if a proxy is in front of this service, set TRUSTED_PROXIES (the console sends the header, too, when someone tries a model)',
    );
  };
}

function hasName(rawHeaders: readonly string[]): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === NAME.length && name.toLowerCase() === NAME) return true;
  }
  return false;
}
