import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

/** A server that can be called. */
export interface Peer {
  /** Where to connect: `host:port`. The host is an IP address unless gRPC is to look it up. */
  readonly address: string;
  /** The host that its certificate must name, if that is not the host in `address`. */
  readonly serverName: string | null;
}

/** Resolves to all IP addresses of a host name. Rejects when there is none. */
export type ResolvePeers = (host: string) => Promise<readonly string[]>;

/** Asks the system, which also uses its hosts file and search domains. */
export const resolveAll: ResolvePeers = async (host) =>
  (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);

/** One configured address: a host name to look up, or a peer as it is. */
export type PeerTarget = { readonly host: string; readonly port: string } | { readonly peer: Peer };

const HOST_AND_PORT = /^(?:dns:(?:\/\/\/)?)?([^\s:/[\]]+):(\d{1,5})$/;

/** IP addresses, and forms that only gRPC knows, become peers as they are. */
export function parseTarget(address: string): PeerTarget {
  const [, host, port] = HOST_AND_PORT.exec(address) ?? [];
  if (host === undefined || port === undefined || isIP(host) !== 0)
    return { peer: { address, serverName: null } };
  return { host, port };
}

export const peerAt = (ip: string, host: string, port: string): Peer => ({
  address: `${isIP(ip) === 6 ? `[${ip}]` : ip}:${port}`,
  serverName: host,
});
