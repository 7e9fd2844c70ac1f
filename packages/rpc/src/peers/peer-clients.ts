import type { Client } from '@grpc/grpc-js';
import type { Peers } from './peers.ts';
import type { Peer } from './target.ts';

const MAX_AGE_MS = 10_000;

export interface PeerClientsOptions<C extends Client> {
  readonly peers: Peers;
  readonly connect: (peer: Peer) => C;
}

/**
 * Clients of interchangeable servers, for unary calls. A call goes to the server that this process
 * prefers among those that have not failed. Host names are looked up with the first call, at most
 * every 10 s after that, and after a failure.
 */
export class PeerClients<C extends Client> {
  readonly #options: PeerClientsOptions<C>;
  /** By address. */
  readonly #clients = new Map<string, C>();

  constructor(options: PeerClientsOptions<C>) {
    this.#options = options;
  }

  /**
   * Rejects with the last failure after trying this many servers, each at most once. Default: all
   * of them.
   */
  async call<T>(send: (client: C) => Promise<T>, tries = Number.POSITIVE_INFINITY): Promise<T> {
    const { peers } = this.#options;
    await peers.refresh(MAX_AGE_MS);
    const ranked = peers.ranked();
    this.#closeOthers(ranked);
    let failure: unknown = new Error('no server address is known');
    for (const peer of ranked.slice(0, tries)) {
      try {
        const answer = await send(this.#clientOf(peer));
        peers.worked(peer);
        return answer;
      } catch (error) {
        failure = error;
        peers.failed(peer);
      }
    }
    void peers.refresh();
    throw failure;
  }

  close(): void {
    this.#closeOthers([]);
  }

  #clientOf(peer: Peer): C {
    const client = this.#clients.get(peer.address) ?? this.#options.connect(peer);
    this.#clients.set(peer.address, client);
    return client;
  }

  /** Calls in progress still run to their end. */
  #closeOthers(peers: readonly Peer[]): void {
    if (this.#clients.size === 0) return;
    const kept = new Set(peers.map(({ address }) => address));
    for (const [address, client] of this.#clients) {
      if (kept.has(address)) continue;
      this.#clients.delete(address);
      client.close();
    }
  }
}
