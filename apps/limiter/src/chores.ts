import { type Logger, startChore } from '@tidegate/runtime';
import type { Admissions } from './admission/admissions.ts';
import { startForgetting } from './deletion/deleted-orgs.ts';
import type { Failures } from './failures.ts';
import type { LastUses } from './keys/last-uses.ts';
import { Reaper } from './leases/reaper.ts';
import { startReaper } from './leases/start-reaper.ts';
import type { LiveStateParts } from './live-state.ts';
import type { LimiterMetrics } from './metrics.ts';
import { OlderCopies, startOlderCopies } from './recovery/older-copies.ts';
import { Recovery, startRecovery } from './recovery/recovery.ts';
import { Lock } from './redis/lock.ts';
import type { LimiterTiming } from './timing.ts';

const REAPER_LOCK_MS = 5_000;

export interface ChoresOptions {
  readonly live: LiveStateParts;
  readonly limiterId: string;
  readonly admissions: Admissions;
  readonly lastUses: LastUses;
  readonly timing: LimiterTiming;
  readonly metrics: LimiterMetrics;
  readonly failures: Failures;
  readonly logger: Logger;
}

export interface Chores {
  /** Whether this limiter does the chore for all limiters. */
  holds(chore: 'reaper' | 'recovery'): boolean;
  /** See `LimiterReadings`. */
  recovering(): number | null;
  stop(): Promise<void>;
}

/** Starts what a limiter does without being asked, except the sweep, which the outbox starts. */
export function startChores(options: ChoresOptions): Chores {
  const { scriptDeps, link, db, seeder, notices, deletedOrgs } = options.live;
  const { limiterId, lastUses, timing, failures, logger } = options;
  const { store, names } = scriptDeps;
  const everyMs = timing.recoverEveryMs;
  const locks = {
    reaper: new Lock(store, names.reaperLock, limiterId, REAPER_LOCK_MS),
    recovery: new Lock(store, names.recoveryLock, limiterId, everyMs),
  };
  const onRan = (chore: keyof typeof locks) => () => locks[chore].held && options.metrics.ran(chore);
  const recovery = new Recovery({ ...scriptDeps, db, seeder, notices, lock: locks.recovery });
  const olderCopies = new OlderCopies({ ...scriptDeps, db, link, seeder, notices, deletedOrgs, logger });
  const started = [
    startReaper({
      scriptDeps,
      reaper: createReaper(options, locks.reaper),
      link,
      graceMs: timing.graceMs,
      everyMs: timing.reapEveryMs,
      logger,
      onRan: onRan('reaper'),
    }),
    startRecovery({ recovery, link, everyMs, logger, onRan: onRan('recovery') }),
    startOlderCopies({ olderCopies, link, everyMs, logger }),
    startForgetting({ deletedOrgs, link, everyMs, logger }),
    startChore({ everyMs: timing.reapEveryMs, run: () => lastUses.write(), onError: failures.report }),
  ];
  return {
    holds: (chore) => locks[chore].held,
    recovering: () => recovery.recovering,
    async stop() {
      await Promise.all(started.map((chore) => chore.stop()));
    },
  };
}

const createReaper = ({ live, admissions, timing, metrics, logger }: ChoresOptions, lock: Lock): Reaper =>
  new Reaper({
    ...live.scriptDeps,
    admissions,
    lock,
    leaseMs: timing.leaseMs,
    graceMs: timing.graceMs,
    onReaped: metrics.reaped,
    onFailed: (instanceId, err) => logger.warn({ err, instanceId }, 'a dead instance could not be reaped'),
  });
