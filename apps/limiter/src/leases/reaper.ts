import type { Lock } from '../redis/lock.ts';
import { fenceInstance } from './lease.ts';
import { endOpenRecords, type LeftoversDeps } from './leftovers.ts';

const INSTANCES_PER_PAGE = 100;
/** Enough to share pipelines, few enough not to delay the calls of gateways. */
const ORGS_AT_ONCE = 50;
/** Bounds the work for one instance in one run. The next run continues. */
const MAX_STEPS = 200;

export interface ReaperOptions extends LeftoversDeps {
  readonly lock: Lock;
  readonly leaseMs: number;
  /** How long to skip an instance that could not be fenced. */
  readonly graceMs: number;
  /** Called for an instance that could not be reaped. The next run tries again. */
  readonly onFailed: (instanceId: string, error: unknown) => void;
  readonly nowMs?: () => number;
}

/** Which servers can be trusted when they have no heartbeat from an instance. */
export interface TrustedServers {
  /** Called regularly, so that a standstill of this process is noticed. */
  observe(): void;
  /** Whether the server of this key has been available long enough. */
  isTrusted(key: string): boolean;
}

/**
 * Ends what dead gateway instances left. Any limiter may repeat any step: each record ends only
 * once.
 */
export class Reaper {
  readonly #options: ReaperOptions;
  readonly #nowMs: () => number;
  /** Instances to skip, and until when. */
  readonly #skipped = new Map<string, number>();
  /**
   * The first page of the last run, if that run had the lock. Their leases are requested along with
   * the next page, so that the process wakes only once.
   */
  #known: readonly string[] = [];

  constructor(options: ReaperOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /**
   * Checks every instance once, because no index by Redis' clock shows which ones are silent.
   * Resolves to the instances that are gone with everything they held. An instance that cannot be
   * ended, or whose lease is on an unavailable server, does not keep others from being ended.
   * Rejects if Redis is unavailable, or the server that holds the index.
   */
  async run(trusted: TrustedServers): Promise<string[]> {
    for (const [instanceId, untilMs] of this.#skipped)
      if (untilMs <= this.#nowMs()) this.#skipped.delete(instanceId);
    const gone: string[] = [];
    let cursor = '0';
    do {
      const { mayReap, next, instanceIds, checks } = await this.#page(cursor, trusted);
      if (!mayReap) break;
      cursor = next;
      const dead = await Promise.all(
        instanceIds.map((instanceId) => checks.get(instanceId) ?? this.#isDead(instanceId, trusted)),
      );
      for (const instanceId of instanceIds.filter((_, i) => dead[i]))
        if (await this.#reap(instanceId, trusted)) gone.push(instanceId);
    } while (cursor !== '0');
    return gone;
  }

  /**
   * Reads a page of the index. Everything is asked at once. If this limiter turns out not to hold
   * the lock, the answers go unused.
   */
  async #page(cursor: string, trusted: TrustedServers) {
    const { store, names } = this.#options;
    const permission = this.#mayReap(trusted);
    const first = cursor === '0';
    const known = first && trusted.isTrusted(names.instances) ? this.#known : [];
    const checks = new Map(known.map((instanceId) => [instanceId, this.#isDead(instanceId, trusted)]));
    const scan = store.command('zscan', names.instances, cursor, 'COUNT', INSTANCES_PER_PAGE);
    const [mayReap, reply] = await Promise.all([permission, scan]);
    const [next, membersAndScores] = reply as [string, string[]];
    const instanceIds = membersAndScores.filter((_, i) => i % 2 === 0);
    if (first) this.#known = mayReap ? instanceIds : [];
    return { mayReap, next, instanceIds, checks };
  }

  /** Also false if another limiter has taken the lock. That limiter continues. */
  async #mayReap(trusted: TrustedServers): Promise<boolean> {
    const { lock, names } = this.#options;
    trusted.observe();
    return trusted.isTrusted(names.instances) && lock.acquire();
  }

  async #isDead(instanceId: string, trusted: TrustedServers): Promise<boolean> {
    const { leaseMs, graceMs, names, onFailed } = this.#options;
    if (this.#skipped.has(instanceId) || !trusted.isTrusted(names.lease(instanceId))) return false;
    try {
      return (await fenceInstance(this.#options, instanceId, leaseMs)) === 'dead';
    } catch (error) {
      // A server that could not store the fence may not have stored heartbeats either, for example
      // a cluster master whose disk is full.
      this.#skipped.set(instanceId, this.#nowMs() + graceMs);
      onFailed(instanceId, error);
      return false;
    }
  }

  /** Resolves to true if nothing of the instance is left. */
  async #reap(instanceId: string, trusted: TrustedServers): Promise<boolean> {
    const { store, names, onFailed } = this.#options;
    try {
      // The list is complete, because a dead instance cannot join another organization.
      const orgIds = (await store.command('smembers', names.orgsOf(instanceId))) as string[];
      if (!(await this.#reapOrgs(instanceId, orgIds, trusted))) return false;
      await store.command('zrem', names.instances, instanceId);
      return true;
    } catch (error) {
      onFailed(instanceId, error);
      return false;
    }
  }

  /** Rejects if an organization could not be reaped, but only after the others are done. */
  async #reapOrgs(instanceId: string, orgIds: readonly string[], trusted: TrustedServers): Promise<boolean> {
    const { store, names } = this.#options;
    const errors: unknown[] = [];
    let left = orgIds;
    for (let steps = 0; left.length > 0 && steps < MAX_STEPS; steps++) {
      if (!(await this.#mayReap(trusted))) return false;
      const some = left.slice(0, ORGS_AT_ONCE);
      const ends = await Promise.allSettled(
        some.map((orgId) => endOpenRecords(this.#options, instanceId, orgId)),
      );
      const done: string[] = [];
      const again: string[] = [];
      for (const [i, end] of ends.entries()) {
        if (end.status === 'rejected') errors.push(end.reason);
        else (end.value ? done : again).push(some[i] as string);
      }
      if (done.length > 0) await store.command('srem', names.orgsOf(instanceId), ...done);
      left = [...again, ...left.slice(ORGS_AT_ONCE)];
    }
    if (errors.length > 0) throw errors[0];
    return left.length === 0;
  }
}
