import type { Logger } from '@tidegate/runtime';
import type { Redis } from 'ioredis';
import { startChore } from '../chore.ts';
import type { Context } from '../context.ts';
import { observeTime } from '../redis/clock.ts';
import type { RedisLink } from '../redis/link.ts';
import { Grace } from './grace.ts';
import type { Reaper } from './reaper.ts';

/** A longer pause between two turns means that this process stood still. */
const MAX_PAUSE_MS = 3_000;

/** Lets the reaper take its turns with what is there, after the grace of each server; before each turn, the limiter's clock is set by Redis'. */
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
  const grace = new Grace<Redis>({ graceMs, maxGapMs: everyMs + MAX_PAUSE_MS });
  link.onBreak((server) => grace.lost(server));
  const watch = {
    look: () => grace.look(shards.all()),
    over: (key: string) => grace.over(shards.of(key)),
  };
  return startChore({
    everyMs,
    onError(err) {
      // As on a Redis whose disk is full: it answers, but takes no heartbeats.
      grace.lost(null);
      logger.warn({ err }, 'the reaper failed');
    },
    async run() {
      if (link.ready()) await observeTime(context.store, context.clock);
      for (const instanceId of await reaper.turn(watch)) logger.info({ instanceId }, 'a lease ran out');
    },
  });
}
