import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

const IPV6_PREFIX_PARTS = 4;
/** A /48, which providers commonly give to one site. */
const IPV6_SITE_PARTS = 3;

/**
 * The caller's address, in the form by which attempts are counted: IPv4 in full, IPv6 as the first
 * address of its /64, IPv4-mapped IPv6 as IPv4.
 *
 * Without proxies this is the peer. Behind `trustedProxies` proxies it is the entry of
 * X-Forwarded-For that the outermost of them wrote: the address that it saw. Anyone can forge the
 * entries to the left of it. If that entry is missing or is not an address, the request did not
 * come through the proxies, and the peer counts again.
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

/**
 * The network in which one person may have any number of addresses: for IPv6 the /48, for IPv4 the
 * address itself.
 *
 * @param address as `clientAddress` returns it
 */
export function networkOf(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  const site = ipaddr.IPv6.parse(address).parts.slice(0, IPV6_SITE_PARTS);
  return `${new ipaddr.IPv6([...site, 0, 0, 0, 0, 0])}/48`;
}

/** Null: the text is not an address. */
function counted(text: string): string | null {
  // IPv4 must be four decimal numbers. No proxy writes its other spellings.
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
