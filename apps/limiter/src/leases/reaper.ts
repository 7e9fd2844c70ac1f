import type { Lock } from '../redis/lock.ts';
import { fenceInstance } from './lease.ts';
import { endSome, type LeftoversDeps } from './leftovers.ts';

const INSTANCES_PER_PAGE = 100;
/** Enough to share pipelines, few enough not to delay the calls of gateways. */
const ORGS_AT_ONCE = 50;
/** Bounds the work for one instance in one turn. The next turn continues. */
const MAX_STEPS = 200;

export interface ReaperOptions extends LeftoversDeps {
  readonly lock: Lock;
  readonly leaseMs: number;
  /** How long to skip an instance that could not be fenced. */
  readonly graceMs: number;
  /** Called for an instance whose end failed. The next turn tries again. */
  readonly onFailed: (instanceId: string, error: unknown) => void;
  readonly nowMs?: () => number;
}

/** Tells which servers can be trusted when they know nothing of an instance. */
export interface Watch {
  /** Called regularly, so that a standstill of this process is noticed. */
  look(): void;
  /** Whether the server of this key has been available long enough. */
  over(key: string): boolean;
}

/**
 * Ends what dead gateway instances left. Any limiter may repeat any step: each record ends only
 * once.
 */
export class Reaper {
  readonly #options: ReaperOptions;
  readonly #nowMs: () => number;
  /** Instances to skip, and until when. */
  readonly #spared = new Map<string, number>();
  /**
   * The first page of the last turn, if that turn had the lock. Their leases are requested along
   * with the next page, so that the process wakes only once.
   */
  #known: readonly string[] = [];

  constructor(options: ReaperOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /**
   * Runs one turn. It checks every instance, because no index by Redis's clock shows which ones are
   * silent. Resolves to the instances that are gone with everything they held. An instance that
   * cannot be ended, or whose lease is on an unavailable server, does not keep others from being
   * ended. Rejects if Redis is away, or the server that holds the index.
   */
  async turn(watch: Watch): Promise<string[]> {
    for (const [instanceId, untilMs] of this.#spared)
      if (untilMs <= this.#nowMs()) this.#spared.delete(instanceId);
    const gone: string[] = [];
    let cursor = '0';
    do {
      const { holds, next, instanceIds, asked } = await this.#page(cursor, watch);
      if (!holds) break;
      cursor = next;
      const dead = await Promise.all(
        instanceIds.map((instanceId) => asked.get(instanceId) ?? this.#isDead(instanceId, watch)),
      );
      for (const instanceId of instanceIds.filter((_, i) => dead[i]))
        if (await this.#reap(instanceId, watch)) gone.push(instanceId);
    } while (cursor !== '0');
    return gone;
  }

  /**
   * Reads a page of the index. Everything is asked at once. If this limiter turns out not to hold
   * the lock, the answers go unused.
   */
  async #page(cursor: string, watch: Watch) {
    const { store, names } = this.#options;
    const holding = this.#holds(watch);
    const first = cursor === '0';
    const known = first && watch.over(names.instances) ? this.#known : [];
    const asked = new Map(known.map((instanceId) => [instanceId, this.#isDead(instanceId, watch)]));
    const scan = store.command('zscan', names.instances, cursor, 'COUNT', INSTANCES_PER_PAGE);
    const [holds, reply] = await Promise.all([holding, scan]);
    const [next, membersAndScores] = reply as [string, string[]];
    const instanceIds = membersAndScores.filter((_, i) => i % 2 === 0);
    if (first) this.#known = holds ? instanceIds : [];
    return { holds, next, instanceIds, asked };
  }

  /** Also false if another limiter has taken the lock. That limiter continues. */
  async #holds(watch: Watch): Promise<boolean> {
    const { lock, names } = this.#options;
    watch.look();
    return watch.over(names.instances) && lock.hold();
  }

  async #isDead(instanceId: string, watch: Watch): Promise<boolean> {
    const { leaseMs, graceMs, names, onFailed } = this.#options;
    if (this.#spared.has(instanceId) || !watch.over(names.lease(instanceId))) return false;
    try {
      return (await fenceInstance(this.#options, instanceId, leaseMs)) === 'dead';
    } catch (error) {
      // A server that could not store the fence may not have stored heartbeats either, for example
      // a cluster master whose disk is full.
      this.#spared.set(instanceId, this.#nowMs() + graceMs);
      onFailed(instanceId, error);
      return false;
    }
  }

  /** Resolves to true if nothing of the instance is left. */
  async #reap(instanceId: string, watch: Watch): Promise<boolean> {
    const { store, names, onFailed } = this.#options;
    try {
      // The list is complete, because a dead instance cannot join another organization.
      const orgIds = (await store.command('smembers', names.orgsOf(instanceId))) as string[];
      if (!(await this.#reapOrgs(instanceId, orgIds, watch))) return false;
      await store.command('zrem', names.instances, instanceId);
      return true;
    } catch (error) {
      onFailed(instanceId, error);
      return false;
    }
  }

  /** Rejects if an organization could not be reaped, but only after the others are done. */
  async #reapOrgs(instanceId: string, orgIds: readonly string[], watch: Watch): Promise<boolean> {
    const { store, names } = this.#options;
    const errors: unknown[] = [];
    let left = orgIds;
    for (let steps = 0; left.length > 0 && steps < MAX_STEPS; steps++) {
      if (!(await this.#holds(watch))) return false;
      const some = left.slice(0, ORGS_AT_ONCE);
      const ends = await Promise.allSettled(some.map((orgId) => endSome(this.#options, instanceId, orgId)));
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
