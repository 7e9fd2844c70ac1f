import { Resolver } from 'node:dns/promises';

const QUERY_TIMEOUT_MS = 2_000;
const QUERY_TRIES = 2;

/**
 * All IPv4 and IPv6 addresses of a host name, from the system's name servers. Not by dns.lookup: that holds one of the process's
 * four worker threads for as long as a caller's name server likes, and tries the search domains of the local network.
 */
export async function resolveHost(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted();
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
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
