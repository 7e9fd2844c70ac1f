import type { Logger } from '@tidegate/runtime';
import { startChore } from '../chore.ts';
import type { Context } from '../context.ts';
import { observeTime } from '../redis/clock.ts';
import type { RedisLink } from '../redis/link.ts';
import { Grace } from './grace.ts';
import type { Reaper } from './reaper.ts';

/** A longer pause between two turns means that this process stood still. */
const MAX_PAUSE_MS = 3_000;

/** Lets the reaper take its turns while Redis is there, after the grace; before each, the limiter's clock is set by Redis'. */
export function startReaper(options: {
  readonly context: Context;
  readonly reaper: Reaper;
  readonly link: RedisLink;
  readonly graceMs: number;
  readonly everyMs: number;
  readonly logger: Logger;
}): { stop(): Promise<void> } {
  const { context, reaper, link, graceMs, everyMs, logger } = options;
  const grace = new Grace({ graceMs, maxGapMs: everyMs + MAX_PAUSE_MS });
  link.onBreak(() => grace.lost());
  return startChore({
    everyMs,
    onError(err) {
      // As on a Redis whose disk is full: it answers, but takes no heartbeats.
      grace.lost();
      logger.warn({ err }, 'the reaper failed');
    },
    async run() {
      if (link.ready()) await observeTime(context.store, context.clock);
      const goOn = () => link.shards.whole() && grace.over();
      for (const instanceId of await reaper.turn(goOn)) logger.info({ instanceId }, 'a lease ran out');
    },
  });
}
