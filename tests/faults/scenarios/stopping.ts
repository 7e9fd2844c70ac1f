import { eventually } from '@tidegate/testing';
import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import { makeOrg } from '../world/orgs.ts';
import { pause } from '../world/random.ts';
import { type Stores, startStores } from '../world/stores.ts';
import type { World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const ANSWERS = 6;
const ANSWER_MS = 3_000;
const CHUNK_MS = 200;
/** Longer than a lease lasts, and than a gateway waits for a limiter that it cannot reach. */
const OUTAGE_MS = 15_000;

/**
 * Answers end while Redis is down, and then their gateway is told to stop. It stops once it has
 * settled them, so that none is charged in full.
 */
export const stopping: Scenario = {
  id: 'stopping',
  name: 'gateways stopped (SIGTERM) while Redis is down',
  laws: '3',
  unit: 'stops',
  async run(_random, size) {
    const stores = await startStores();
    const options = { databaseUrl: stores.postgres.url, redisUrl: stores.redis.url };
    const trials = size === 'short' ? 1 : 5;
    try {
      return await underAttack(options, async (world) => {
        await makeOrg(world, { keys: [{ atOnce: ANSWERS }], models: ['tide'] });
        const seen: Seen[] = [];
        const violations: string[] = [];
        for (let trial = 0; trial < trials; trial++) {
          seen.push(...(await stopWhileRedisIsDown(world, stores, trial)));
          violations.push(...(await untilQuiet(world)));
        }
        for (const { complete, ask } of seen) if (!complete) violations.push(`${ask.order.tag}: broken off`);
        const { violations: unequal, counts } = await audit(world, seen);
        if (counts.lost !== 0) violations.push(`${counts.lost} answers were charged in full`);
        return { violations: [...violations, ...unequal], trials, notes: JSON.stringify(counts) };
      });
    } finally {
      await stores.stop();
    }
  },
};

async function stopWhileRedisIsDown(world: World, { redis }: Stores, trial: number): Promise<Seen[]> {
  const [gateway = ''] = world.gateways;
  const [key] = world.orgs.flatMap(({ keys }) => keys);
  if (!key) throw new Error('the organization has no key');
  const order = (i: number) => ({
    tag: `stop-${trial}-${i}`,
    gapMs: CHUNK_MS,
    tokens: ANSWER_MS / CHUNK_MS,
  });
  const answers = Array.from({ length: ANSWERS }, (_, i) =>
    send({ ...plainAsk(key, gateway, order(i)), stream: true }),
  );
  const called = () => world.witness.calls.filter((call) => call.order.tag.startsWith(`stop-${trial}-`));
  await eventually(() => called().length === ANSWERS);
  world.reapingPossibleSinceMs = Number.POSITIVE_INFINITY;
  await redis.down();
  const seen = await Promise.all(answers);
  const back = world.untilBack('gateway', world.stack.pid('gateway'), 120_000);
  world.stack.kill('gateway', 'SIGTERM');
  await pause(OUTAGE_MS);
  await redis.up();
  world.reapingPossibleSinceMs = Date.now();
  await back;
  return seen;
}
