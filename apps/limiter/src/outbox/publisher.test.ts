import { describe, expect, it, jest } from '@jest/globals';
import type { Settlement } from '@tidegate/contracts';
import { SettlementPublisher } from './publisher.ts';

const settlement = (i: number): Settlement => ({
  reservationId: `r${i}`,
  outboxId: `${i}-0`,
  orgId: 'org_x',
  keyId: 'key_x',
  modelId: 'mdl_x',
  reservedAtMs: 0,
  answered: true,
  errorCode: null,
  streamed: false,
  reservedTokens: 1,
  promptTokens: 1,
  completionTokens: 0,
  chargedTokens: 1,
  durationMs: 1,
  firstChunkMs: null,
});

describe('the publisher', () => {
  it('sends everything once, in batches of at most 1,000, before it closes', async () => {
    const batches: string[][] = [];
    const publisher = new SettlementPublisher({
      send: async (batch) => void batches.push(batch.map(({ reservationId }) => reservationId)),
      maxWaiting: 10_000,
      maxSending: 2,
      nowMs: () => performance.now(),
      onDropped: () => {},
    });
    for (let i = 0; i < 7_300; i++) publisher.publish(settlement(i));
    await publisher.close();
    expect(batches.flat()).toEqual(Array.from({ length: 7_300 }, (_, i) => `r${i}`));
    expect(Math.max(...batches.map((batch) => batch.length))).toBe(1_000);
  });

  it('keeps a bounded number while the queue accepts none, and drops the rest', async () => {
    let dropped = 0;
    const stuck: (() => void)[] = [];
    const publisher = new SettlementPublisher({
      send: () => new Promise((resolve) => stuck.push(resolve)),
      maxWaiting: 2_500,
      maxSending: 2,
      nowMs: () => performance.now(),
      onDropped: (count) => {
        dropped += count;
      },
    });
    for (let i = 0; i < 10_000; i++) publisher.publish(settlement(i));
    expect(stuck).toHaveLength(2);
    expect(dropped).toBe(10_000 - 2_500 - 2_000);
    const closed = publisher.close();
    const drain = setInterval(() => {
      for (const resolve of stuck.splice(0)) resolve();
    }, 1);
    await closed;
    clearInterval(drain);
    expect(dropped).toBe(5_500);
  });

  it('leaves what the queue refuses to the sweep', async () => {
    let dropped = 0;
    const publisher = new SettlementPublisher({
      send: () => Promise.reject(new Error('unavailable')),
      maxWaiting: 2_500,
      maxSending: 2,
      nowMs: () => performance.now(),
      onDropped: (count) => {
        dropped += count;
      },
    });
    for (let i = 0; i < 50; i++) publisher.publish(settlement(i));
    await publisher.close();
    expect(dropped).toBe(50);
  });

  it('sends the first settlement soon after a pause, and under load one batch every 250 ms', async () => {
    const sentAtMs: number[] = [];
    let nowMs = 0;
    jest.useFakeTimers();
    try {
      const publisher = new SettlementPublisher({
        send: async () => void sentAtMs.push(nowMs),
        maxWaiting: 1_000,
        maxSending: 8,
        nowMs: () => nowMs,
        onDropped: () => {},
      });
      while (nowMs < 1_000) {
        publisher.publish(settlement(nowMs));
        nowMs++;
        jest.advanceTimersByTime(1);
      }
      expect(sentAtMs).toEqual([25, 275, 525, 775]);
    } finally {
      jest.useRealTimers();
    }
  });
});
