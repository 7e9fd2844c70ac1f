import { describe, expect, it } from '@jest/globals';
import type { Live } from './live.ts';
import { remains } from './quiet.ts';
import { heldTooLong, liveViolations } from './sampler.ts';

const org = {
  slug: 'a',
  most: { atOnce: 3, requestsPerMonth: 10, tokensPerMonth: 4_000 },
};
const caps = new Map([['key_1', 2]]);

const sound: Live = {
  open: 2,
  openReserved: 1_000,
  openLarge: 1,
  inFlight: 2,
  large: 1,
  requests: 10,
  charged: 3_000,
  reserved: 1_000,
  outbox: 0,
  opensMs: 0,
  keys: [['key_1', 2, 2]],
  instances: { gwi_1: 3 },
};

describe('what must hold at every instant', () => {
  it('does when everything agrees and every cap is just reached', () => {
    expect(liveViolations(org, caps, sound)).toEqual([]);
  });

  it.each<[string, Partial<Live>, RegExp]>([
    ['a slot that nothing holds', { inFlight: 3 }, /3 slots counted, 2 open/],
    ['a record without its slot', { open: 3 }, /2 slots counted, 3 open/],
    ['one large body too many', { large: 2 }, /2 large bodies counted/],
    ['tokens reserved by nobody', { reserved: 1_001 }, /tokens reserved/],
    ['in flight above the cap', { inFlight: 4, open: 4 }, /4 in flight, at most 3/],
    ['requests above those of the month', { requests: 11 }, /11 requests in the month/],
    ['tokens above those of the month', { charged: 3_001 }, /tokens in the month/],
    ["a key's slot that nothing holds", { keys: [['key_1', 2, 1]] }, /key_1: 2 slots counted/],
    ['a key above its cap', { keys: [['key_1', 3, 3]] }, /key_1: 3 in flight/],
  ])('finds %s', (_name, change, text) => {
    expect(liveViolations(org, caps, { ...sound, ...change }).join('\n')).toMatch(text);
  });
});

describe('a silent gateway', () => {
  it('may hold something for 15 s after its last heartbeat, and after Redis and limiters are back', () => {
    const holder = { instance: 'gwi_1', held: 1, beatMs: 1_000 };
    expect(heldTooLong([holder], 16_000, 0)).toEqual([]);
    expect(heldTooLong([holder], 16_001, 1_001)).toEqual([]);
    expect(heldTooLong([{ ...holder, held: 0 }], 99_000, 0)).toEqual([]);
    expect(heldTooLong([holder], 16_001, 0)).toEqual([expect.stringMatching(/gwi_1.*holds 1/)]);
  });
});

describe('a quiet system', () => {
  const still = {
    live: [{ ...sound, open: 0, openLarge: 0, inFlight: 0, reserved: 0 }],
    waiting: 0,
    dead: 0,
  };

  it('is one that has nothing left', () => {
    expect(remains(still)).toEqual([]);
  });

  it.each([
    ['a slot', { live: [{ ...sound, open: 0, openLarge: 0, reserved: 0 }] }, /slots in flight/],
    ['an open record', { live: [{ ...sound, inFlight: 0, reserved: 0 }] }, /open records/],
    ['a settlement in an outbox', { live: [{ ...sound, outbox: 1 }] }, /in outboxes/],
    ['a job', { waiting: 1 }, /jobs queued/],
    ['a dead letter', { dead: 1 }, /dead letters/],
  ])('is not one that still has %s', (_name, change, text) => {
    expect(remains({ ...still, ...change }).join('\n')).toMatch(text);
  });
});
