import type { Db } from '@tidegate/db';
import type { Logger } from '@tidegate/runtime';
import { startChore } from '../chore.ts';
import type { Context } from '../context.ts';
import type { NoticeHub } from '../notices/hub.ts';
import type { RedisLink } from '../redis/link.ts';
import type { Lock } from '../redis/lock.ts';
import { type LiveOrg, readLiveOrgs, readRevokedKeys } from '../truth/rows.ts';
import { revokeKey } from '../truth/seed.ts';
import type { Truth } from '../truth/truth.ts';

const ORGS_PER_PAGE = 500;
const REVOKED_KEYS = 200;

export interface RecoveryOptions extends Context {
  readonly db: Db;
  readonly truth: Truth;
  readonly notices: NoticeHub;
  readonly lock: Lock;
}

/**
 * Finds organizations whose state Redis has lost, also those that nobody asks for: they recover from the loss on, not from their next
 * request on. And tells of those that recover again and again, so that a gateway that missed it hears of it in time. Of the others it
 * renews the indexes.
 *
 * It also makes up for what was written to Postgres and never told to a limiter, as when a console died in between, or was told to a
 * master whose replica has not heard of it: limits in force and revocations.
 */
export class Recovery {
  readonly #options: RecoveryOptions;
  /** What failed first in this turn. */
  #failure: unknown;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /**
   * One look at every organization; resolves to how many were found lost. Rejects when Redis or Postgres is away; when it is one master
   * of a cluster, after all others have been looked at.
   */
  async turn(): Promise<number> {
    const { db, lock, notices } = this.#options;
    this.#failure = undefined;
    let found = 0;
    let after = '';
    while (await lock.hold()) {
      const orgs = await readLiveOrgs(db, after, ORGS_PER_PAGE);
      const { lost, behind } = await this.#look(orgs);
      if (lost.length + behind.length > 0)
        await this.#settled([this.#options.truth.refreshOrgs([...lost, ...behind])]);
      await this.#settled(behind.map((orgId) => notices.tell({ orgChanged: { orgId } })));
      found += lost.length;
      if (orgs.length < ORGS_PER_PAGE) {
        await this.#revokeAgain();
        break;
      }
      after = orgs.at(-1)?.orgId ?? '';
    }
    if (this.#failure !== undefined) throw this.#failure;
    return found;
  }

  async #settled<T>(asked: readonly Promise<T>[]): Promise<(T | undefined)[]> {
    const results = await Promise.allSettled(asked);
    return results.map((result) => {
      if (result.status === 'fulfilled') return result.value;
      this.#failure ??= result.reason;
      return undefined;
    });
  }

  async #revokeAgain(): Promise<void> {
    const keys = await readRevokedKeys(this.#options.db, REVOKED_KEYS);
    await this.#settled(keys.map(({ orgId, keyId, hash }) => revokeKey(this.#options, orgId, keyId, hash)));
  }

  async #look(orgs: readonly LiveOrg[]): Promise<{ lost: string[]; behind: string[] }> {
    const { store, names, clock, notices } = this.#options;
    const states = await this.#settled(
      orgs.map(
        ({ orgId }) =>
          store.command('hgetall', names.org(orgId)) as Promise<Readonly<Record<string, string>>>,
      ),
    );
    const lost: string[] = [];
    const behind: string[] = [];
    const orgsOf = new Map<string, string[]>();
    for (const [i, { orgId, version }] of orgs.entries()) {
      const state = states[i];
      if (state === undefined) continue;
      if (state.version === undefined) lost.push(orgId);
      else if (Number(state.version) < version) behind.push(orgId);
      // By this process's idea of the time: once more or less does not matter.
      if (Number(state.opens_us ?? 0) > clock.nowMs() * 1_000)
        await this.#settled([notices.tell({ orgForgotten: { orgId } })]);
      for (const instanceId of joinedIn(state))
        orgsOf.set(instanceId, [...(orgsOf.get(instanceId) ?? []), orgId]);
    }
    await this.#index(
      orgs.map(({ orgId }) => orgId),
      orgsOf,
    );
    return { lost, behind };
  }

  /**
   * What finds instances and organizations may be lost without them, in a cluster: it is written again. An instance that is not known to
   * beat is then the reaper's to look at.
   */
  async #index(orgIds: readonly string[], orgsOf: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const { store, names, clock } = this.#options;
    const nowMs = Math.floor(clock.nowMs());
    if (orgIds.length > 0) await this.#settled([store.command('sadd', names.orgs, ...orgIds)]);
    await this.#settled(
      [...orgsOf].flatMap(([instanceId, joined]) => [
        store.command('zadd', names.instances, 'NX', nowMs, instanceId),
        store.command('sadd', names.orgsOf(instanceId), ...joined),
      ]),
    );
  }
}

/** As lib/state.lua names them. */
const JOINED = 'in:';

const joinedIn = (state: Readonly<Record<string, string>>): string[] =>
  Object.keys(state).flatMap((field) => (field.startsWith(JOINED) ? [field.slice(JOINED.length)] : []));

/** Looks while Redis is there. */
export function startRecovery(options: {
  readonly recovery: Recovery;
  readonly link: RedisLink;
  readonly everyMs: number;
  readonly logger: Logger;
}): { stop(): Promise<void> } {
  const { recovery, link, everyMs, logger } = options;
  return startChore({
    everyMs,
    onError: (err) => logger.warn({ err }, 'looking for lost state failed'),
    async run() {
      if (!link.ready()) return;
      const organizations = await recovery.turn();
      if (organizations > 0) logger.warn({ organizations }, 'Redis has lost live state: it recovers');
    },
  });
}
