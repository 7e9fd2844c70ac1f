import { Resolver } from 'node:dns/promises';
import type { Resolve } from './download.ts';

const QUERY_TIMEOUT_MS = 2_000;
const QUERY_TRIES = 2;

/**
 * Resolves a host name to all its IPv4 and IPv6 addresses, using the given name servers, or the
 * system's if none are given. dns.lookup is unsuitable: it blocks one of the process's four worker
 * threads for as long as a slow name server takes, and it tries the local network's search domains.
 */
export const createResolve =
  (nameServers: readonly string[]): Resolve =>
  (hostname, signal) => {
    const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
    if (nameServers.length > 0) resolver.setServers(nameServers);
    return resolveHost(resolver, hostname, signal);
  };

async function resolveHost(
  resolver: Resolver,
  hostname: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  signal.throwIfAborted();
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    if (addresses.length === 0) throw new Error('the host name has no address');
    return addresses;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
