import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import { Load } from '../load/load.ts';
import { GarbageCollector } from '../world/garbage.ts';
import { Memory } from '../world/memory.ts';
import { makeKey, makeOrg } from '../world/orgs.ts';
import { pause, type Random } from '../world/random.ts';
import { type Stores, startStores } from '../world/stores.ts';
import type { World } from '../world/world.ts';
import { InducedOutage } from './outage.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

interface Target {
  readonly id: string;
  readonly name: string;
  /** Whether it is needed to decide requests. */
  readonly needed: boolean;
  /** Whether gateways lose their leases because of it. */
  readonly endsLeases?: boolean;
  down(world: World, stores: Stores): Promise<void>;
  up(world: World, stores: Stores): Promise<void>;
}

const LIMITERS = ['limiter', 'limiter-2'];

const signals = (names: readonly string[], by: NodeJS.Signals) => async (world: World) => {
  for (const name of names) world.stack.kill(name, by);
};

const TARGETS: readonly Target[] = [
  {
    id: 'postgres',
    name: 'Postgres down',
    needed: false,
    down: (_world, { postgres }) => postgres.down(),
    up: (_world, { postgres }) => postgres.up(),
  },
  {
    id: 'hung-postgres',
    name: 'Postgres hung (SIGSTOP)',
    needed: false,
    down: async (_world, { postgres }) => postgres.signal('SIGSTOP'),
    up: async (_world, { postgres }) => postgres.signal('SIGCONT'),
  },
  {
    id: 'redis',
    name: 'Redis down',
    needed: true,
    down: (_world, { redis }) => redis.down(),
    up: (_world, { redis }) => redis.up(),
  },
  {
    id: 'limiters',
    name: 'both limiters down',
    needed: true,
    endsLeases: true,
    down: async (world) => world.keepDown(LIMITERS),
    up: (world) => world.letUp(),
  },
  {
    id: 'hung-limiters',
    name: 'both limiters hung (SIGSTOP)',
    needed: true,
    endsLeases: true,
    down: signals(LIMITERS, 'SIGSTOP'),
    up: signals(LIMITERS, 'SIGCONT'),
  },
  {
    id: 'hung-redis',
    name: 'Redis hung (SIGSTOP)',
    needed: true,
    down: async (_world, { redis }) => redis.signal('SIGSTOP'),
    up: async (_world, { redis }) => redis.signal('SIGCONT'),
  },
  // As on a slow disk.
  stalling({
    id: 'redis',
    name: 'Redis',
    down: async (_world, { redis }) => redis.signal('SIGSTOP'),
    up: async (_world, { redis }) => redis.signal('SIGCONT'),
  }),
  // As on a machine that other work keeps busy.
  stalling({
    id: 'limiters',
    name: 'both limiters',
    down: signals(LIMITERS, 'SIGSTOP'),
    up: signals(LIMITERS, 'SIGCONT'),
  }),
  {
    id: 'metering',
    name: 'metering hung (SIGSTOP)',
    needed: false,
    down: signals(['metering'], 'SIGSTOP'),
    up: signals(['metering'], 'SIGCONT'),
  },
  {
    id: 'runner',
    name: 'runner hung (SIGSTOP)',
    needed: false,
    down: signals(['runner'], 'SIGSTOP'),
    up: signals(['runner'], 'SIGCONT'),
  },
];

/** Less than gateways wait for a decision. */
const STALL_MS = 1_000;

/** Something that requests need stands still, and goes on each time before gateways give up. */
function stalling(what: Pick<Target, 'id' | 'name' | 'down' | 'up'>): Target {
  let going = false;
  let done = Promise.resolve();
  return {
    id: `stalling-${what.id}`,
    name: `${what.name} standing still for a second, again and again (SIGSTOP)`,
    needed: false,
    async down(world, stores) {
      going = true;
      const stall = async () => {
        while (going) {
          await what.down(world, stores);
          await pause(STALL_MS);
          await what.up(world, stores);
          await pause(STALL_MS);
        }
      };
      done = stall();
    },
    async up() {
      going = false;
      await done;
    },
  };
}

/** Each store and service is unavailable for a minute, under load. */
export const outages: readonly Scenario[] = TARGETS.map((target) => ({
  id: `outage-${target.id}`,
  name: `outage: ${target.name}`,
  laws: target.needed ? '1, 2' : '2, 4',
  unit: '× 60 s',
  async run(random, size) {
    const stores = await startStores();
    const collector = await GarbageCollector.create();
    const env = { gateway: collector.env, limiter: collector.env, metering: collector.env };
    const options = { databaseUrl: stores.postgres.url, redisUrl: stores.redis.url, env };
    const lastsMs = size === 'short' ? 6_000 : 60_000;
    try {
      return await underAttack(options, (world) =>
        outageOf(target, { world, stores, collector, random, lastsMs }),
      );
    } finally {
      await stores.stop();
    }
  },
}));

interface Setting {
  readonly world: World;
  readonly stores: Stores;
  readonly collector: GarbageCollector;
  readonly random: Random;
  readonly lastsMs: number;
}

async function outageOf(target: Target, { world, stores, collector, random, lastsMs }: Setting) {
  for (let i = 0; i < 3; i++)
    await makeOrg(world, { keys: [{ atOnce: 20 }, { atOnce: 20 }], models: ['tide'] });
  const [first] = world.orgs;
  const unseen = first && (await makeKey(world, first, {}));
  const seen: Seen[] = [];
  for (const gateway of world.gateways) {
    for (const { keys } of world.orgs) {
      const known = keys.filter((key) => key !== unseen);
      for (const key of known) seen.push(await send(plainAsk(key, gateway, { tag: `first-${seen.length}` })));
    }
  }
  if (unseen) first.keys.splice(first.keys.indexOf(unseen), 1);
  seen.push(...(await warmUp(world, random)));
  const memory = new Memory(world.stack, collector);
  await memory.markBefore();
  const outage = new InducedOutage({ name: target.name, world, random, lastsMs, unseen });
  const { needed, endsLeases = false } = target;
  const down = async () => {
    if (needed) world.reapingPossibleSinceMs = Number.POSITIVE_INFINITY;
    await target.down(world, stores);
  };
  const up = async () => {
    await target.up(world, stores);
    if (needed) world.reapingPossibleSinceMs = Date.now();
  };
  await (needed ? outage.ofRequired(down, up, endsLeases) : outage.ofOptional(down, up));
  if (unseen) first.keys.push(unseen);
  const unquiet = await untilQuiet(world);
  seen.push(...outage.seen, ...(await warmUp(world, random)));
  unquiet.push(...(await untilQuiet(world)));
  await memory.markAfter();
  await memory.stop();
  const { violations, counts } = await audit(world, seen);
  return {
    violations: [...outage.violations, ...unquiet, ...violations, ...memory.violations()],
    trials: 1,
    notes: JSON.stringify(counts),
    figures: { seconds: lastsMs / 1_000, ...outage.figures, ...memory.figures() },
  };
}

/**
 * Does enough work that the runtimes take all the memory that they will ever take, so that before
 * and after can be compared.
 */
async function warmUp(world: World, random: Random): Promise<readonly Seen[]> {
  const load = new Load(world, random, { clients: 24, hangUps: 0, longestMs: 100 });
  await pause(12_000);
  return load.stop();
}
