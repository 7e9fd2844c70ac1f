import { describe, expect, it } from '@jest/globals';
import type { Settlement } from '@tidegate/contracts';
import { SettlementPublisher } from './publisher.ts';

const settlement = (i: number): Settlement => ({
  reservationId: `r${i}`,
  outboxId: `${i}-0`,
  orgId: 'org_x',
  keyId: 'key_x',
  modelId: 'mdl_x',
  admittedAtMs: 0,
  answered: true,
  errorCode: null,
  streamed: false,
  reservedTokens: 1,
  promptTokens: 1,
  completionTokens: 0,
  chargedTokens: 1,
  durationMs: 1,
});

describe('the publisher', () => {
  it('sends everything once, in batches of at most 100, before it closes', async () => {
    const batches: string[][] = [];
    const publisher = new SettlementPublisher({
      send: async (batch) => void batches.push(batch.map(({ reservationId }) => reservationId)),
      maxWaiting: 1_000,
      maxSending: 2,
      onDropped: () => {},
    });
    for (let i = 0; i < 730; i++) publisher.publish(settlement(i));
    await publisher.close();
    expect(batches.flat()).toEqual(Array.from({ length: 730 }, (_, i) => `r${i}`));
    expect(Math.max(...batches.map((batch) => batch.length))).toBe(100);
  });

  it('holds a bounded number while the queue does not take them, and drops the rest', async () => {
    let dropped = 0;
    const stuck: (() => void)[] = [];
    const publisher = new SettlementPublisher({
      send: () => new Promise((resolve) => stuck.push(resolve)),
      maxWaiting: 250,
      maxSending: 2,
      onDropped: (count) => {
        dropped += count;
      },
    });
    for (let i = 0; i < 1_000; i++) publisher.publish(settlement(i));
    expect(stuck).toHaveLength(2);
    expect(dropped).toBe(1_000 - 250 - 200);
    const closed = publisher.close();
    const drain = setInterval(() => {
      for (const resolve of stuck.splice(0)) resolve();
    }, 1);
    await closed;
    clearInterval(drain);
    expect(dropped).toBe(550);
  });

  it('leaves to the sweep what the queue refuses', async () => {
    let dropped = 0;
    const publisher = new SettlementPublisher({
      send: () => Promise.reject(new Error('away')),
      maxWaiting: 250,
      maxSending: 2,
      onDropped: (count) => {
        dropped += count;
      },
    });
    for (let i = 0; i < 50; i++) publisher.publish(settlement(i));
    await publisher.close();
    expect(dropped).toBe(50);
  });
});
