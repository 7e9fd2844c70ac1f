import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { newApiKey, parseApiKey, type Refusal } from '@tidegate/contracts';
import { INTERNAL_ERROR, INVALID_API_KEY } from '../refusals.ts';
import { presentedKey } from './authorization.ts';
import { BlockedAddresses } from './blocked-addresses.ts';
import { Principals } from './principals.ts';

const { value } = newApiKey('abcdefghijkl');
const request = (...rawHeaders: string[]) => ({ rawHeaders }) as unknown as IncomingMessage;

describe('the presented key', () => {
  it('is one bearer token, whatever the letter case of scheme and header', () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
      expect(presentedKey(request('AUTHORIZATION', `${scheme} ${value}`))).toMatchObject({
        orgTag: 'abcdefghijkl',
      });
    }
  });

  it.each([
    ['another scheme', ['Authorization', `Basic ${value}`]],
    ['no scheme', ['Authorization', value]],
    ['two tokens', ['Authorization', `Bearer ${value} ${value}`]],
    ['two headers', ['Authorization', `Bearer ${value}`, 'authorization', `Bearer ${value}`]],
    ['a mistyped key', ['Authorization', `Bearer ${value.slice(0, -1)}_`]],
    ['a key of another form', ['Authorization', 'Bearer sk-123']],
    ['an empty header', ['Authorization', '']],
  ])('is malformed: %s', (_name, headers) => {
    expect(presentedKey(request(...headers))).toBe('malformed');
  });

  it('is absent without the header', () => {
    expect(presentedKey(request('X-Authorization', `Bearer ${value}`))).toBe('absent');
  });
});

describe('blocked addresses', () => {
  it('stay blocked until their block ends, and no longer', () => {
    let nowMs = 0;
    const blocked = new BlockedAddresses(10, () => nowMs);
    blocked.block('a', 1_000);
    expect(blocked.remainingMs('a')).toBe(1_000);
    expect(blocked.remainingMs('b')).toBe(0);
    expect(blocked.any).toBe(true);
    nowMs = 1_000;
    expect(blocked.any).toBe(false);
    expect(blocked.remainingMs('a')).toBe(0);
  });

  it('are bounded in number', () => {
    const blocked = new BlockedAddresses(2, () => 0);
    for (const address of ['a', 'b', 'c']) blocked.block(address, 1_000);
    expect(['a', 'b', 'c'].map((address) => blocked.remainingMs(address))).toEqual([0, 1_000, 1_000]);
  });
});

describe('principals', () => {
  const key = parseApiKey(value);
  if (!key) throw new Error('a new key cannot be parsed');
  const principal = {
    orgId: 'o1',
    keyId: 'k1',
    allModels: false,
    modelIds: ['m1'],
    expiresAtMs: 0,
    imagesAllowed: false,
  };

  function start(change: Partial<typeof principal> = {}, maxEntries = 10) {
    const state = {
      nowMs: 1_000,
      monotonicMs: 5,
      asked: 0,
      answer: { ...principal, ...change } as typeof principal | Refusal,
    };
    const principals = new Principals({
      authenticate: async () => {
        state.asked++;
        return state.answer;
      },
      ttlMs: 100,
      maxEntries,
      nowMs: () => state.nowMs,
      monotonicMs: () => state.monotonicMs,
    });
    return { principals, state };
  }

  it('are requested once for concurrent callers, and cached until they expire', async () => {
    const { principals, state } = start();
    const both = await Promise.all([principals.get(key), principals.get(key)]);
    expect(both[0]).toMatchObject({ orgId: 'o1', keyId: 'k1', modelIds: new Set(['m1']) });
    expect(principals.get(key)).not.toBeInstanceOf(Promise);
    expect(state.asked).toBe(1);
    state.nowMs -= 3_600_000;
    state.monotonicMs += 100;
    expect(principals.get(key)).not.toBeInstanceOf(Promise);
    state.monotonicMs += 1;
    await principals.get(key);
    expect(state.asked).toBe(2);
  });

  it('are dropped by key and by organization, even while a request for them is open', async () => {
    const { principals, state } = start();
    for (const drop of [
      () => principals.dropKey('k1'),
      () => principals.dropOrg('o1'),
      () => principals.dropAll(),
    ]) {
      await principals.get(key);
      drop();
      expect(principals.size).toBe(0);
    }
    const underWay = principals.get(key);
    principals.dropKey('k1');
    await underWay;
    expect(principals.size).toBe(0);
    expect(state.asked).toBe(4);
  });

  it("are requested again once the key expires, so that the limiter decides and not this machine's clock", async () => {
    const { principals, state } = start({ expiresAtMs: 1_050 });
    await principals.get(key);
    state.nowMs = 1_050;
    expect(await principals.get(key)).toMatchObject({ keyId: 'k1' });
    expect(state.asked).toBe(2);
    state.answer = INVALID_API_KEY;
    expect(await principals.get(key)).toMatchObject({ code: 'invalid_api_key' });
  });

  it('are not cached for invalid or unknown keys', async () => {
    const { principals, state } = start();
    for (const answer of [INVALID_API_KEY, INTERNAL_ERROR]) {
      state.answer = answer;
      expect(await principals.get(key)).toBe(answer);
    }
    expect(principals.size).toBe(0);
  });

  it('are up to date after a check', async () => {
    const { principals, state } = start();
    await principals.get(key);
    state.answer = { ...principal, imagesAllowed: true };
    expect(await principals.check(key)).toMatchObject({ imagesAllowed: true });
    expect(principals.get(key)).toMatchObject({ imagesAllowed: true });
  });

  it('stay cached when a check fails, and are dropped when the key is invalid', async () => {
    const { principals, state } = start();
    await principals.get(key);
    state.answer = INTERNAL_ERROR;
    await principals.check(key);
    expect(principals.size).toBe(1);
    state.answer = INVALID_API_KEY;
    await principals.check(key);
    expect(principals.size).toBe(0);
  });

  it('are checked by one call at a time, and never by a call that began before the check', async () => {
    const { principals, state } = start();
    const first = principals.check(key);
    state.answer = INVALID_API_KEY;
    const others = await Promise.all([principals.check(key), principals.check(key), principals.check(key)]);
    expect(others).toEqual([INVALID_API_KEY, INVALID_API_KEY, INVALID_API_KEY]);
    expect(await first).toMatchObject({ keyId: 'k1' });
    expect(state.asked).toBe(2);
    await principals.check(key);
    expect(state.asked).toBe(3);
  });
});
