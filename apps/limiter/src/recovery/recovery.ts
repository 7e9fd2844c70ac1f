import type { Db } from '@tidegate/db';
import { type Chore, createOutage, type Logger, startChore } from '@tidegate/runtime';
import type { NoticeHub } from '../notices/hub.ts';
import type { RedisLink } from '../redis/link.ts';
import type { Lock } from '../redis/lock.ts';
import { joinedIn } from '../redis/names.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { type LimitsVersion, type RevokedKey, readLiveOrgs, readRevokedKeys } from '../seeding/rows.ts';
import { revokeKey } from '../seeding/seed.ts';
import type { Seeder } from '../seeding/seeder.ts';

const ORGS_PER_PAGE = 500;
const REVOKED_KEYS = 200;

export interface RecoveryOptions extends ScriptDeps {
  readonly db: Db;
  readonly seeder: Seeder;
  readonly notices: NoticeHub;
  readonly lock: Lock;
}

/**
 * Finds organizations whose state Redis has lost, even if no request arrives for them. So they
 * start to recover soon after the loss, not with their next request. It repeatedly announces
 * organizations that are recovering, so that a gateway that missed the first notice learns of it in
 * time. It renews the indexes.
 *
 * It also catches up on limits and revocations that are in Postgres but not in Redis. Either no
 * limiter was told, for example because a console died in between, or the master that was told
 * failed before its replica had the change.
 */
export class Recovery {
  readonly #options: RecoveryOptions;
  /** The first failure of this run. */
  #failure: unknown;
  #recovering = 0;
  #seenRecovering: number | null = null;
  /** Where the turn of the older keys stands: the last one revoked again. Null: it begins anew. */
  #lastRevokedAgain: RevokedKey | null = null;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /** Organizations that were recovering at the last run. Null if another limiter has the lock. */
  get recovering(): number | null {
    return this.#options.lock.held ? this.#seenRecovering : null;
  }

  /**
   * Checks every organization once. Resolves to how many had lost their state. Rejects if Redis or
   * Postgres is unavailable. If only one master of a cluster is unavailable, it rejects after
   * checking the rest.
   */
  async run(): Promise<number> {
    const { db, lock, notices } = this.#options;
    this.#failure = undefined;
    this.#recovering = 0;
    let found = 0;
    let after = '';
    while (await lock.acquire()) {
      const orgs = await readLiveOrgs(db, after, ORGS_PER_PAGE);
      const { missing, behind } = await this.#check(orgs);
      if (missing.length + behind.length > 0) {
        const refreshed = [this.#options.seeder.refreshOrgs([...missing, ...behind])];
        const [lost = 0] = await this.#allSettled(refreshed);
        found += lost;
      }
      await this.#allSettled(behind.map((orgId) => notices.publish({ orgChanged: { orgId } })));
      if (orgs.length < ORGS_PER_PAGE) {
        this.#seenRecovering = this.#recovering;
        await this.#revokeAgain();
        break;
      }
      after = orgs.at(-1)?.orgId ?? '';
    }
    if (this.#failure !== undefined) throw this.#failure;
    return found;
  }

  async #allSettled<T>(asked: readonly Promise<T>[]): Promise<(T | undefined)[]> {
    const results = await Promise.allSettled(asked);
    return results.map((result) => {
      if (result.status === 'fulfilled') return result.value;
      this.#failure ??= result.reason;
      return undefined;
    });
  }

  /** Each run revokes again the keys that were revoked last, and some of the others in turn. */
  async #revokeAgain(): Promise<void> {
    const { db } = this.#options;
    const last = await readRevokedKeys(db, REVOKED_KEYS, null);
    const after = this.#lastRevokedAgain ?? last.at(-1);
    const others = last.length < REVOKED_KEYS || !after ? [] : await readRevokedKeys(db, REVOKED_KEYS, after);
    this.#lastRevokedAgain = (others.length === REVOKED_KEYS && others.at(-1)) || null;
    await this.#allSettled(
      [...last, ...others].map(({ orgId, keyId, hash }) => revokeKey(this.#options, orgId, keyId, hash)),
    );
  }

  /** Returns the organizations without limits in Redis, and those whose limits there are old. */
  async #check(orgs: readonly LimitsVersion[]): Promise<{ missing: string[]; behind: string[] }> {
    const { store, names, clock, notices } = this.#options;
    const states = await this.#allSettled(
      orgs.map(
        ({ orgId }) =>
          store.command('hgetall', names.org(orgId)) as Promise<Readonly<Record<string, string>>>,
      ),
    );
    // Not necessarily lost: a limiter may have died between naming the first life and writing it.
    const missing: string[] = [];
    const behind: string[] = [];
    const orgsOf = new Map<string, string[]>();
    for (const [i, { orgId, version }] of orgs.entries()) {
      const state = states[i];
      if (state === undefined) continue;
      if (state.version === undefined) missing.push(orgId);
      else if (Number(state.version) < version) behind.push(orgId);
      // This process's idea of the time is good enough: one notice more or less does not matter.
      if (Number(state.opens_us ?? 0) > clock.nowMs() * 1_000) {
        this.#recovering++;
        await this.#allSettled([notices.publish({ orgStateLost: { orgId } })]);
      }
      for (const instanceId of joinedIn(Object.keys(state)))
        orgsOf.set(instanceId, [...(orgsOf.get(instanceId) ?? []), orgId]);
    }
    await this.#index(
      orgs.map(({ orgId }) => orgId),
      orgsOf,
    );
    return { missing, behind };
  }

  /**
   * In a cluster, the indexes of instances and organizations may be lost on their own, so they are
   * written again. The reaper then checks any listed instance that has no known heartbeat.
   */
  async #index(orgIds: readonly string[], orgsOf: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const { store, names, clock } = this.#options;
    const nowMs = Math.floor(clock.nowMs());
    if (orgIds.length > 0) await this.#allSettled([store.command('sadd', names.orgs, ...orgIds)]);
    await this.#allSettled(
      [...orgsOf].flatMap(([instanceId, joined]) => [
        store.command('zadd', names.instances, 'NX', nowMs, instanceId),
        store.command('sadd', names.orgsOf(instanceId), ...joined),
      ]),
    );
  }
}

/** Starts the chore, which does nothing while Redis is unavailable. */
export function startRecovery(options: {
  readonly recovery: Recovery;
  readonly link: RedisLink;
  readonly everyMs: number;
  readonly logger: Logger;
  readonly onRan: () => void;
}): Chore {
  const { recovery, link, everyMs, logger, onRan } = options;
  const outage = createOutage(logger, 'the search for lost state failed');
  return startChore({
    everyMs,
    onRan,
    onError: (err) => outage.failed(err),
    async run() {
      if (!link.ready()) return;
      const organizations = await recovery.run();
      outage.worked();
      if (organizations > 0)
        logger.warn({ organizations }, 'Redis has lost live state: organizations are recovering');
    },
  });
}
