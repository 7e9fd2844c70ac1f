import type { Db } from '@tidegate/db';
import type { Logger } from '@tidegate/runtime';
import { DeletedOrgs } from './deletion/deleted-orgs.ts';
import type { Failures } from './failures.ts';
import type { LimiterMetrics } from './metrics.ts';
import { NoticeHub } from './notices/hub.ts';
import { LimiterClock } from './redis/clock.ts';
import { warnOfDurability } from './redis/durability.ts';
import { createRedisLink, type RedisLink } from './redis/link.ts';
import { KeyNames } from './redis/names.ts';
import { Store } from './redis/store.ts';
import type { ScriptDeps } from './script-deps.ts';
import { Seeder } from './seeding/seeder.ts';
import type { LimiterTiming } from './timing.ts';

/**
 * The parts of the limiter that work on live state: the link to Redis, seeding from Postgres,
 * notices and deletion.
 */
export interface LiveStateParts {
  readonly link: RedisLink;
  readonly db: Db;
  readonly scriptDeps: ScriptDeps;
  readonly seeder: Seeder;
  readonly notices: NoticeHub;
  readonly deletedOrgs: DeletedOrgs;
}

export interface LiveStateOptions {
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly clockOffsetMs: number;
  readonly db: Db;
  readonly timing: LimiterTiming;
  readonly metrics: LimiterMetrics;
  readonly failures: Failures;
  readonly logger: Logger;
}

/** Connects to nothing yet. */
export function createLiveState(options: LiveStateOptions): LiveStateParts {
  const { db, timing, metrics, failures, logger } = options;
  const link = createRedisLink(options.redisUrl, timing.answerTimeoutMs, logger);
  const store = new Store({ shards: link.shards, onPipeline: metrics.pipelineTook });
  const names = new KeyNames(options.redisPrefix);
  const scriptDeps: ScriptDeps = { store, names, clock: new LimiterClock(options.clockOffsetMs) };
  const notices = new NoticeHub({ store, connect: link.connect, channel: names.notices });
  const seeder = new Seeder(scriptDeps, db, {
    readTimeoutMs: timing.readTimeoutMs,
    onStateLost(orgId) {
      logger.warn({ orgId }, 'live state was lost');
      notices.publish({ orgStateLost: { orgId } }).catch(failures.report);
    },
  });
  return {
    link,
    db,
    scriptDeps,
    seeder,
    notices,
    deletedOrgs: new DeletedOrgs({ ...scriptDeps, db, notices }),
  };
}

export interface OpenLiveState {
  /**
   * Why it is not ready. Null: Redis answers, and the first reads of Postgres have succeeded or
   * failed.
   */
  problem(): string | null;
  close(): void;
}

/** Connects, and keeps trying until closed. */
export function openLiveState(live: LiveStateParts, failures: Failures, logger: Logger): OpenLiveState {
  const { link, scriptDeps, seeder, notices } = live;
  link.onReady(() => void scriptDeps.store.loadScripts().catch(failures.report));
  notices.listen((notice) => 'orgChanged' in notice && seeder.forgetMisses());
  warnOfDurability(link, logger);
  link.open();
  notices.start();
  let warm = false;
  void seeder.warm().then((failure) => {
    warm = true;
    if (failure) failures.warnOfPostgres(failure);
  });
  return {
    problem() {
      if (!link.ready()) return 'Redis is unavailable';
      return warm ? null : 'the first reads of Postgres are not done yet';
    },
    close() {
      notices.stop();
      link.close();
    },
  };
}
