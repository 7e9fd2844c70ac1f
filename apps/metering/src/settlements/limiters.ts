import type { SettlementRef } from '@tidegate/contracts';
import { callUnary, createLimiterClient, PeerClients, Peers } from '@tidegate/rpc';
import type { ServiceIdentity } from '@tidegate/runtime';

const DEADLINE_MS = 2_000;

export interface Limiters {
  /**
   * Confirms to one limiter. After a failure the next call goes to another one. Rejects with the
   * failure.
   */
  confirm(refs: readonly SettlementRef[]): Promise<void>;
  close(): void;
}

/** @param addresses `host:port`, at least one */
export function connectLimiters(addresses: readonly string[], caller: ServiceIdentity): Limiters {
  const clients = new PeerClients({
    peers: new Peers({ addresses, random: Math.random, nowMs: () => performance.now() }),
    connect: (peer) => createLimiterClient(peer, caller),
  });
  return {
    async confirm(refs) {
      const request = { settlements: [...refs] };
      const options = { deadlineMs: DEADLINE_MS };
      await clients.call((client) => callUnary(client, 'confirmSettlements', request, options), 1);
    },
    close: () => clients.close(),
  };
}
