import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { Load } from '../load/load.ts';
import { pause } from '../world/random.ts';
import { RedisPair, SentinelPair } from '../world/redis-servers.ts';
import { fiveOrgs } from './kills.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const LONG_FAILOVERS = 10;

/** Redis moves to its replica under load. */
const failoverOf = <P extends { readonly url: string; stop(): Promise<void> }>(
  how: Pick<Scenario, 'id' | 'name'> & { readonly start: () => Promise<P> },
  move: (pair: P) => Promise<void>,
): Scenario => ({
  id: how.id,
  name: how.name,
  laws: '1, 2, 3',
  unit: 'failovers',
  async run(random, size) {
    const pair = await how.start();
    try {
      return await underAttack({ redisUrl: pair.url }, async (world) => {
        await fiveOrgs(world, 4);
        const load = new Load(world, random, { clients: 24, hangUps: 0.1, restMs: 150 });
        const failovers = size === 'short' ? 1 : LONG_FAILOVERS;
        for (let i = 0; i < failovers; i++) {
          await pause(random.whole(500, 3_000));
          const kill = { victim: 'redis', atMs: Date.now(), backMs: 0 };
          world.kills.push(kill);
          await move(pair);
          kill.backMs = Date.now();
        }
        await pause(2_000);
        const seen = await load.stop();
        const unquiet = await untilQuiet(world);
        const { violations, counts } = await audit(world, seen);
        return {
          violations: [...unquiet, ...violations],
          trials: failovers,
          notes: JSON.stringify(counts),
        };
      });
    } finally {
      await pair.stop();
    }
  },
});

export const handOver = failoverOf(
  { id: 'hand-over', name: 'Redis handed over to its replica (FAILOVER)', start: RedisPair.start },
  (pair) => pair.handOver(),
);

/**
 * Writes that the replica had not received are lost with its master. On loopback there are almost
 * none; see docs/reliability.md.
 */
export const failover = failoverOf(
  { id: 'failover', name: 'Redis master killed, its replica promoted', start: RedisPair.start },
  (pair) => pair.failOver(),
);

export const sentinelFailover = failoverOf(
  { id: 'sentinel', name: 'Redis master killed, Sentinel promotes its replica', start: SentinelPair.start },
  (pair) => pair.failOver('SIGKILL'),
);

export const sentinelHung = failoverOf(
  {
    id: 'sentinel-hung',
    name: 'Redis master hung (SIGSTOP), Sentinel promotes its replica',
    start: SentinelPair.start,
  },
  (pair) => pair.failOver('SIGSTOP'),
);
