import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';

const IPV6_PARTS = 8;
const IPV6_PREFIX_PARTS = 4;

/**
 * Who asks, as attempts are counted: IPv4 in full, IPv6 by the first address of its /64 (the API, which is told it too, takes
 * nothing but addresses), IPv4-mapped IPv6 as IPv4.
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
function counted(address: string): string | null {
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return null;
  // In its shortest form, all in hexadecimal.
  const [, short = ''] = /^\[(.*)\]$/.exec(new URL(`http://[${address.replace(/%.*/, '')}]`).hostname) ?? [];
  const [, high, low] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(short) ?? [];
  if (high && low) return [high, low].flatMap((part) => bytesOf(Number.parseInt(part, 16))).join('.');
  const [left = [], right = []] = short.split('::').map((side) => side.split(':').filter(Boolean));
  const zeros = Array<string>(IPV6_PARTS - left.length - right.length).fill('0');
  return `${[...left, ...zeros, ...right].slice(0, IPV6_PREFIX_PARTS).join(':')}::`;
}

const bytesOf = (part: number): number[] => [part >> 8, part & 0xff];

/** `[v6]:port`, `[v6]` and `v4:port`, as some proxies write them. */
const withoutPort = (entry: string): string =>
  entry.replace(/^\[(.+)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
