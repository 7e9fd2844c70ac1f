import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inWindow, mostInAnyWindow } from '@tidegate/limits/model';
import { cases, type TestRedis, testRedis } from '@tidegate/testing';
import fc from 'fast-check';
import { openStore, type TestStore } from '../testing/fixture.ts';

const WINDOW_US = 60_000_000;
const START_US = Date.UTC(2026, 5, 10) * 1_000;
const HISTORIES = 1_000;
const PER_RUN = 50;

const read = (name: string): string => readFileSync(new URL(`../lua/${name}.lua`, import.meta.url), 'utf8');

/**
 * Runs the scripts' window functions at given times. KEYS 1 is the window. ARGV has three values
 * per request: time (us), limit, take it back (1, 0).
 */
const DRIVER = `${read('time')}
${read('window')}
local replies = {}
for i = 1, #ARGV, 3 do
  local now = ARGV[i] + 0
  local window = open_window(KEYS[1])
  local wait = window_wait(window, ARGV[i + 1] + 0, now)
  local counted, reset = -1, -1
  if wait == 0 then
    counted, reset = window_count(window, now)
    write_window(window, now, exact(now))
    if ARGV[i + 2] == '1' then window_withdraw(KEYS[1], exact(now), now) end
  end
  replies[#replies + 1] = { wait, counted, reset }
end
redis.call('DEL', KEYS[1])
return replies`;

interface Request {
  readonly gapUs: number;
  readonly limit: number;
  readonly takenBack: boolean;
}

/** Dense around the edges of the window. */
const gapUs = fc.oneof(
  fc.constantFrom(0, 1, WINDOW_US - 1, WINDOW_US, WINDOW_US + 1, WINDOW_US / 2, WINDOW_US / 3),
  fc.nat(5_000_000),
);

/** A history under one limit, or under a limit that changes halfway. */
const history: fc.Arbitrary<Request[]> = fc
  .tuple(
    fc.array(fc.tuple(gapUs, fc.nat(9)), { minLength: 1, maxLength: 24 }),
    fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 2 }),
  )
  .map(([requests, limits]) =>
    requests.map(([gap, chance], i) => ({
      gapUs: gap,
      limit: limits[i < requests.length / 2 ? 0 : limits.length - 1] ?? 0,
      takenBack: chance === 0,
    })),
  );

/**
 * The replies that the definition of the window demands for a history: each request's wait, how
 * many are counted then, and when the oldest leaves.
 */
function expectedReplies(requests: readonly Request[]): number[][] {
  const admitted: number[] = [];
  let nowUs = START_US;
  const replies = requests.map(({ gapUs, limit, takenBack }) => {
    nowUs += gapUs;
    const others = inWindow(admitted, nowUs, WINDOW_US);
    if (others.length >= limit) {
      // Admission times are in order. A place is free once all but limit - 1 of them have left.
      const last = others[others.length - limit] ?? nowUs;
      return [last + WINDOW_US - nowUs, -1, -1];
    }
    const oldest = others[0] ?? nowUs;
    if (!takenBack) admitted.push(nowUs);
    return [0, others.length + 1, oldest + WINDOW_US - nowUs];
  });
  const most = Math.max(...requests.map(({ limit }) => limit));
  if (mostInAnyWindow(admitted, WINDOW_US) > most) throw new Error('the reference admits too many');
  return replies;
}

let redis: TestRedis;
let store: TestStore;

beforeAll(async () => {
  redis = await testRedis();
  store = await openStore(redis.url);
});

afterAll(async () => {
  store.redis.disconnect();
  await redis.stop();
});

describe("the scripts' window", () => {
  it('never admits more than the limit in any 60 s, and never refuses below it', async () => {
    const [sha] = (await store.everywhere('script', 'LOAD', DRIVER)).map(String);
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(history, { minLength: PER_RUN, maxLength: PER_RUN }), async (histories) => {
        run++;
        const pipeline = store.redis.pipeline();
        histories.forEach((requests, i) => {
          let nowUs = START_US;
          const args = requests.flatMap(({ gapUs, limit, takenBack }) => {
            nowUs += gapUs;
            return [nowUs, limit, takenBack ? 1 : 0];
          });
          pipeline.evalsha(sha ?? '', 1, `{history}:${run}:${i}`, ...args);
        });
        const replies = (await pipeline.exec()) ?? [];
        histories.forEach((requests, i) => {
          expect(replies[i]).toEqual([null, expectedReplies(requests)]);
        });
      }),
      { numRuns: cases(HISTORIES) / PER_RUN },
    );
  });
});
