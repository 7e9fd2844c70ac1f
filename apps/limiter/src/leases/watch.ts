import type { Logger } from '@tidegate/runtime';
import type { Redis } from 'ioredis';
import { startChore } from '../chore.ts';
import type { Context } from '../context.ts';
import { observeTime } from '../redis/clock.ts';
import type { RedisLink } from '../redis/link.ts';
import { Grace } from './grace.ts';
import type { Reaper } from './reaper.ts';

/**
 * If a turn is later than this, this process must have stood still. A turn may take almost two
 * intervals of 2 s, as when Redis forks. Together with a heartbeat's 2.5 s it stays below a lease.
 */
const MAX_LATE_MS = 2_500;

/**
 * Runs the reaper's turns against the available servers, after the grace of each one. Each turn
 * also synchronizes the limiter's clock with Redis's.
 */
export function startReaper(options: {
  readonly context: Context;
  readonly reaper: Reaper;
  readonly link: RedisLink;
  readonly graceMs: number;
  readonly everyMs: number;
  readonly logger: Logger;
}): { stop(): Promise<void> } {
  const { context, reaper, link, graceMs, everyMs, logger } = options;
  const { shards } = link;
  const grace = new Grace<Redis>({ graceMs, maxGapMs: everyMs + MAX_LATE_MS });
  link.onBreak((server) => grace.lost(server));
  const watch = {
    look: () => grace.look(shards.all()),
    over: (key: string) => grace.over(shards.of(key)),
  };
  return startChore({
    everyMs,
    onError(err) {
      // For example, a Redis whose disk is full answers but stores no heartbeats.
      grace.lost(null);
      logger.warn({ err }, 'the reaper failed');
    },
    async run() {
      // Started together, so that both travel in one pipeline.
      const observed = link.ready() ? observeTime(context.store, context.clock) : null;
      const [told, turn] = await Promise.allSettled([observed, reaper.turn(watch)]);
      if (turn.status === 'rejected') throw turn.reason;
      for (const instanceId of turn.value) logger.info({ instanceId }, 'a lease ran out');
      if (told.status === 'rejected') throw told.reason;
    },
  });
}
