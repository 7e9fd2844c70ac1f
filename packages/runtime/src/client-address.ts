import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

const IPV6_PREFIX_PARTS = 4;

/**
 * Who asks, as attempts are counted: IPv4 in full, IPv6 by the first address of its /64, IPv4-mapped IPv6 as IPv4.
 *
 * It is the peer, or, behind `trustedProxies` proxies, the address that the outermost of them saw. What is further left in
 * X-Forwarded-For anyone can write. A request with fewer entries, or one that is no address, did not come through them: then
 * it is the peer, too.
 */
export function clientAddress(
  request: Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string | undefined } },
  trustedProxies: number,
): string {
  const peer = request.socket.remoteAddress ?? 'unknown';
  const entries = trustedProxies > 0 ? String(request.headers['x-forwarded-for'] ?? '').split(',') : [];
  const entry = entries.at(-trustedProxies) ?? '';
  return counted(withoutPort(entry.trim())) ?? counted(peer) ?? peer;
}

/** Null: no address. */
function counted(text: string): string | null {
  // What is no IPv6 must be four decimal numbers: IPv4 has other spellings that no proxy writes.
  if (!ipaddr.isValid(text) || (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text)))
    return null;
  const address = ipaddr.process(text);
  if (address.kind() === 'ipv4') return address.toString();
  const prefix = (address as ipaddr.IPv6).parts.slice(0, IPV6_PREFIX_PARTS);
  return new ipaddr.IPv6([...prefix, 0, 0, 0, 0]).toString();
}

/** `[v6]:port`, `[v6]` and `v4:port`, as some proxies write them. */
const withoutPort = (entry: string): string =>
  entry.replace(/^\[(.+)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
