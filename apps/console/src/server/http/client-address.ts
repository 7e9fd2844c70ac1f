import type { IncomingMessage } from 'node:http';

/**
 * Who asks: the peer, or, behind `trustedProxies` proxies, the address that the outermost of them saw. What is further left
 * in X-Forwarded-For anyone can write.
 */
export function clientAddress(
  request: Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string | undefined } },
  trustedProxies: number,
): string {
  const peer = request.socket.remoteAddress ?? 'unknown';
  if (trustedProxies === 0) return peer;
  const header = request.headers['x-forwarded-for'];
  const hops = String(header ?? '')
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '');
  return hops.at(-trustedProxies) ?? hops[0] ?? peer;
}
