import { type Chore, createOutage, type Logger, startChore } from '@tidegate/runtime';
import type { Redis } from 'ioredis';
import { observeTime } from '../redis/clock.ts';
import type { RedisLink } from '../redis/link.ts';
import type { ScriptDeps } from '../script-deps.ts';
import type { Reaper } from './reaper.ts';
import { StableServers } from './stable-servers.ts';

/**
 * If a run is later than this, this process must have stood still. A run may take almost two
 * intervals of 2 s, as when Redis forks. The interval, this delay and a heartbeat's 2.5 s add up to
 * less than a lease.
 */
const MAX_LATE_MS = 2_500;

/**
 * Runs the reaper against the servers that are available, once the grace period of each one is
 * over. Does nothing before the first connection. Each run also synchronizes the limiter's clock
 * with Redis'.
 */
export function startReaper(options: {
  readonly scriptDeps: ScriptDeps;
  readonly reaper: Reaper;
  readonly link: RedisLink;
  readonly graceMs: number;
  readonly everyMs: number;
  readonly logger: Logger;
  /** See `startChore`. */
  readonly onRan?: () => void;
}): Chore {
  const { scriptDeps, reaper, link, graceMs, everyMs, logger, onRan } = options;
  const { shards } = link;
  const stable = new StableServers<Redis>({ graceMs, maxGapMs: everyMs + MAX_LATE_MS });
  link.onBreak((server) => stable.lost(server));
  const outage = createOutage(logger, 'the reaper failed');
  let connected = false;
  const trusted = {
    observe: () => stable.observe(shards.all()),
    isTrusted: (key: string) => stable.isStable(shards.of(key)),
  };
  return startChore({
    everyMs,
    onRan,
    onError(err) {
      // For example, a Redis whose disk is full answers but stores no heartbeats.
      stable.lost(null);
      outage.failed(err);
    },
    async run() {
      // The link reports a Redis that has never been available.
      connected ||= shards.all().length > 0;
      if (!connected) return;
      // Started together, so that both travel in one pipeline.
      const observed = link.ready() ? observeTime(scriptDeps.store, scriptDeps.clock) : null;
      const [time, reaped] = await Promise.allSettled([observed, reaper.run(trusted)]);
      if (reaped.status === 'rejected') throw reaped.reason;
      for (const instanceId of reaped.value) logger.info({ instanceId }, 'a lease ran out');
      if (time.status === 'rejected') throw time.reason;
      if (observed) outage.worked();
    },
  });
}
