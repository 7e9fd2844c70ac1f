import type { SettlementRef } from '@tidegate/contracts';
import { callUnary, createLimiterClient } from '@tidegate/rpc';
import type { Caller } from '@tidegate/runtime';

const DEADLINE_MS = 2_000;

export interface Limiters {
  /**
   * Confirms to the limiter that answered last. After a failure the next call goes to another
   * limiter. Rejects with the failure.
   */
  confirm(refs: readonly SettlementRef[]): Promise<void>;
  close(): void;
}

/** @param addresses `host:port`, at least one */
export function connectLimiters(addresses: readonly string[], caller: Caller): Limiters {
  const clients = addresses.map((address) => createLimiterClient(address, caller));
  let current = 0;
  return {
    async confirm(refs) {
      const client = clients[current % clients.length];
      if (!client) throw new Error('no limiter address is configured');
      try {
        await callUnary(
          client,
          'confirmSettlements',
          { settlements: [...refs] },
          { deadlineMs: DEADLINE_MS },
        );
      } catch (error) {
        current++;
        throw error;
      }
    },
    close() {
      for (const client of clients) client.close();
    },
  };
}
