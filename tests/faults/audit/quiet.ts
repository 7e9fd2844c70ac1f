import { pause } from '../world/random.ts';
import type { World } from '../world/world.ts';
import { type Live, readLive } from './live.ts';

const QUEUE = '{tg:queue}:settlements';
const LOOK_EVERY_MS = 250;

interface Stillness {
  readonly live: Live[];
  readonly waiting: number;
  readonly dead: number;
}

async function look(world: World): Promise<Stillness> {
  const { redis } = world;
  const live = await Promise.all(world.orgs.map((org) => readLive(world, org)));
  const counts = await Promise.all([
    redis.llen(`${QUEUE}:wait`),
    redis.llen(`${QUEUE}:active`),
    redis.zcard(`${QUEUE}:delayed`),
    redis.zcard(`${QUEUE}:failed`),
  ]);
  return { live, waiting: counts[0] + counts[1] + counts[2], dead: counts[3] };
}

/**
 * Waits until nothing is in flight, nothing is queued and every outbox is empty. Resolves to what
 * remains. The slowest paths set the time this takes: a dead gateway's lease (8 s), a dead worker's
 * jobs (15 s), and the outbox sweep (every 10 s, for entries older than 30 s; a dead limiter's lock
 * lasts 20 s).
 */
export async function untilQuiet(world: World, timeoutMs = 120_000): Promise<string[]> {
  const endMs = Date.now() + timeoutMs;
  let left: string[] = ['Redis is unavailable'];
  while (Date.now() < endMs) {
    await pause(LOOK_EVERY_MS);
    try {
      left = remains(await look(world));
      if (left.length === 0) return [];
    } catch {
      // Redis is unavailable.
    }
  }
  return left;
}

export function remains({ live, waiting, dead }: Stillness): string[] {
  const sum = (of: (live: Live) => number) => live.reduce((total, one) => total + of(one), 0);
  const left = {
    'slots in flight': sum(({ inFlight }) => inFlight),
    'open records': sum(({ open, openLarge }) => open + openLarge),
    'tokens reserved': sum(({ reserved }) => reserved),
    'settlements in outboxes': sum(({ outbox }) => outbox),
    'jobs queued': waiting,
    'dead letters': dead,
  };
  return Object.entries(left).flatMap(([name, count]) =>
    count === 0 ? [] : [`never quiet: ${count} ${name}`],
  );
}
