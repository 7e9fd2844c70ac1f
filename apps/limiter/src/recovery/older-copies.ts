import { orgIdOfTag } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import { type Chore, createOutage, type Logger, startChore } from '@tidegate/runtime';
import type { Redis } from 'ioredis';
import type { DeletedOrgs } from '../deletion/deleted-orgs.ts';
import type { NoticeHub } from '../notices/hub.ts';
import type { RedisLink } from '../redis/link.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import { readKeyStates, readLiveOrgs, readMonthTotals } from '../seeding/rows.ts';
import { revokeKey } from '../seeding/seed.ts';
import type { Seeder } from '../seeding/seeder.ts';

const ORGS_PER_PAGE = 500;
const KEYS_PER_PAGE = 500;
/** Key ids in one log line. */
const MAX_LOGGED = 20;

export interface OlderCopiesOptions extends ScriptDeps {
  readonly db: Db;
  readonly link: RedisLink;
  readonly seeder: Seeder;
  readonly notices: NoticeHub;
  readonly deletedOrgs: DeletedOrgs;
  readonly logger: Logger;
}

/**
 * Compares Redis with Postgres after each connection to a Redis server, and when a replica has
 * taken over in a cluster. Either store may be an older copy, restored from a backup, or a replica
 * that lacked something. Normally the two agree, and nothing is changed. Where they do not, the
 * stricter side counts:
 *
 * - a month has at least what Postgres has
 * - a key that either side knows as revoked is refused, and so is one that Postgres does not have
 *
 * Limits are those of Postgres, because those are what people see and change. Any limiter may do
 * this, even several at once.
 */
export class OlderCopies {
  readonly #options: OlderCopiesOptions;
  #due = true;
  /** The servers that were compared last. */
  #compared: readonly Redis[] = [];
  #running: Promise<void> | null = null;

  constructor(options: OlderCopiesOptions) {
    this.#options = options;
  }

  /** Makes the next `run` compare. */
  markDue(): void {
    this.#due = true;
  }

  /** Compares, if that is due. Rejects if Redis or Postgres is unavailable: then it stays due. */
  run(): Promise<void> {
    const { link } = this.#options;
    // A replica that takes over causes no new connection, because it was connected long before.
    const isNew = (server: Redis) => !this.#compared.includes(server);
    if (!this.#due && !link.shards.all().some(isNew)) return Promise.resolve();
    this.#running ??= this.#compare().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #compare(): Promise<void> {
    const { link, logger } = this.#options;
    this.#due = false;
    this.#compared = link.shards.all();
    try {
      const raised = await this.#raiseMonths();
      const orgs = await this.#overwriteNewerLimits();
      const { refused, revokedInRedis } = await this.#compareKeys();
      if (raised.length > 0)
        logger.warn(
          { organizations: raised.length, orgIds: raised.slice(0, MAX_LOGGED) },
          "Redis had lower month totals than Postgres (was an old backup of Redis restored?). They were raised to Postgres' totals",
        );
      if (orgs.length > 0)
        logger.warn(
          { organizations: orgs.length, orgIds: orgs.slice(0, MAX_LOGGED) },
          'Redis had newer limits than Postgres, as happens when an old backup of Postgres is restored. The limits from Postgres are in force',
        );
      if (refused.length > 0)
        logger.warn(
          { keys: refused.length, keyIds: refused.slice(0, MAX_LOGGED) },
          'Redis had active keys that Postgres has revoked or does not have. They are refused now',
        );
      if (revokedInRedis.length > 0)
        logger.warn(
          { keys: revokedInRedis.length, keyIds: revokedInRedis.slice(0, MAX_LOGGED) },
          'some keys are revoked in Redis but active in Postgres, as happens when an old backup of Postgres is restored. Revoke them again',
        );
    } catch (error) {
      this.#due = true;
      throw error;
    }
  }

  /** Postgres is read first: Redis may grow meanwhile. */
  async #raiseMonths(): Promise<string[]> {
    const { store, names, clock, db } = this.#options;
    const month = clock.month().name;
    const raised: string[] = [];
    for (let after = ''; ; ) {
      const totals = await readMonthTotals(db, month, after, ORGS_PER_PAGE);
      const codes = await Promise.all(
        totals.map(async ({ orgId, requests, chargedTokens }) => {
          const [code] = await store.run(
            SCRIPTS.raiseMonth,
            [names.month(orgId, month)],
            [requests, chargedTokens],
          );
          return { orgId, code };
        }),
      );
      raised.push(...codes.filter(({ code }) => code === 'raised').map(({ orgId }) => orgId));
      if (totals.length < ORGS_PER_PAGE) return raised;
      after = totals.at(-1)?.orgId ?? '';
    }
  }

  /**
   * Postgres is read first, so a version in Redis may be newer only because a plan was changed in
   * between. That is harmless: `overwriteNewerLimits` reads Postgres again, and leaves alone what
   * Postgres has caught up with by then.
   */
  async #overwriteNewerLimits(): Promise<string[]> {
    const { store, names, db, seeder, notices } = this.#options;
    const changed: string[] = [];
    for (let after = ''; ; ) {
      const orgs = await readLiveOrgs(db, after, ORGS_PER_PAGE);
      const inRedis = await Promise.all(
        orgs.map(({ orgId }) => store.command('hget', names.org(orgId), 'version')),
      );
      const ahead = new Map(
        orgs.flatMap(({ orgId, version }, i) =>
          Number(inRedis[i] ?? 0) > version ? [[orgId, Number(inRedis[i])] as const] : [],
        ),
      );
      changed.push(...(ahead.size === 0 ? [] : await seeder.overwriteNewerLimits(ahead)));
      if (orgs.length < ORGS_PER_PAGE) break;
      after = orgs.at(-1)?.orgId ?? '';
    }
    await Promise.all(changed.map((orgId) => notices.publish({ orgChanged: { orgId } })));
    return changed;
  }

  async #compareKeys(): Promise<{ refused: string[]; revokedInRedis: string[] }> {
    const { link, names } = this.#options;
    const found = { refused: [] as string[], revokedInRedis: [] as string[] };
    for (const server of link.shards.all()) {
      let cursor = '0';
      do {
        const [next, page] = await server.scan(cursor, 'MATCH', names.allKeys, 'COUNT', KEYS_PER_PAGE);
        cursor = next;
        const keys = page.flatMap((name) => names.parseKey(name) ?? []);
        if (keys.length > 0) await this.#compareSome(keys, found);
      } while (cursor !== '0');
    }
    return found;
  }

  /**
   * Redis is read first: Postgres has a key before Redis does, and keeps it until it is revoked
   * here.
   */
  async #compareSome(
    keys: readonly { readonly orgTag: string; readonly keyId: string }[],
    found: { readonly refused: string[]; readonly revokedInRedis: string[] },
  ): Promise<void> {
    const { store, names, clock, db, notices, deletedOrgs } = this.#options;
    const states = await Promise.all(
      keys.map(
        ({ orgTag, keyId }) =>
          store.command(
            'hmget',
            names.key(orgIdOfTag(orgTag), keyId),
            'state',
            'hash',
            'expires_at_ms',
          ) as Promise<[string | null, string | null, string | null]>,
      ),
    );
    const rows = await readKeyStates(
      db,
      keys.map(({ keyId }) => keyId),
    );
    const orphans = new Set<string>();
    for (const [i, { orgTag, keyId }] of keys.entries()) {
      const orgId = orgIdOfTag(orgTag);
      const [state, hash, expiresAtMs] = states[i] ?? [null, null, null];
      const row = rows.get(keyId);
      if (!row && state !== null && state !== 'revoked') orphans.add(orgId);
      if (state === null || hash === null) continue;
      if (state === 'revoked') {
        if (row && !row.revoked) found.revokedInRedis.push(keyId);
        continue;
      }
      if (row && !row.revoked) continue;
      await revokeKey(this.#options, orgId, keyId, Buffer.from(hash, 'hex'));
      await notices.publish({ keyRevoked: { keyId } });
      // Page keys are deleted from Postgres after they have ended. They were refused anyway.
      if (!row && isPast(Number(expiresAtMs), clock.nowMs())) continue;
      found.refused.push(keyId);
    }
    for (const orgId of orphans) await deletedOrgs.forgetIfDeleted(orgId);
  }
}

const isPast = (expiresAtMs: number, nowMs: number): boolean => expiresAtMs > 0 && expiresAtMs <= nowMs;

/** Starts the comparison: immediately with each connection to a server, and again if it failed. */
export function startOlderCopies(options: {
  readonly olderCopies: OlderCopies;
  readonly link: RedisLink;
  readonly everyMs: number;
  readonly logger: Logger;
}): Chore {
  const { olderCopies, link, everyMs, logger } = options;
  const outage = createOutage(logger, 'Redis could not be compared with Postgres');
  const onError = (err: unknown) => outage.failed(err);
  const run = async () => {
    if (!link.ready()) return;
    await olderCopies.run();
    outage.worked();
  };
  link.onReady(() => {
    olderCopies.markDue();
    run().catch(onError);
  });
  return startChore({ everyMs, run, onError });
}
