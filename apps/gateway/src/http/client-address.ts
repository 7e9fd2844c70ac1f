import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

const IPV6_PREFIX_PARTS = 4;

/**
 * The address that invalid keys are counted for: IPv4 in full, IPv6 by its /64, IPv4-mapped IPv6 as IPv4.
 *
 * Behind proxies it is the entry that the outermost trusted proxy appended to X-Forwarded-For: with `trustedProxies` of them,
 * that many from the right. Whatever is left of it anyone can write. A header with fewer entries, or an entry that is no
 * address, did not come that way: then the connection's own address counts.
 */
export function clientAddress(request: IncomingMessage, trustedProxies: number): string {
  const own = request.socket.remoteAddress ?? '';
  const forwarded = trustedProxies > 0 ? request.headers['x-forwarded-for'] : undefined;
  if (forwarded === undefined) return normalise(own) ?? own;
  const entries = String(forwarded).split(',');
  const entry = entries[entries.length - trustedProxies];
  return (entry === undefined ? null : normalise(withoutPort(entry.trim()))) ?? normalise(own) ?? own;
}

function normalise(text: string): string | null {
  if (!ipaddr.isValid(text) || (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text)))
    return null;
  const address = ipaddr.process(text);
  if (address.kind() === 'ipv4') return address.toString();
  const parts = (address as ipaddr.IPv6).parts.slice(0, IPV6_PREFIX_PARTS);
  return `${parts.map((part) => part.toString(16)).join(':')}::/64`;
}

/** `[v6]:port`, `[v6]` and `v4:port`, as some proxies write them. */
function withoutPort(entry: string): string {
  const bracketed = /^\[(.+)\](?::\d+)?$/.exec(entry);
  if (bracketed) return bracketed[1] as string;
  const withPort = /^([\d.]+):\d+$/.exec(entry);
  return withPort ? (withPort[1] as string) : entry;
}
