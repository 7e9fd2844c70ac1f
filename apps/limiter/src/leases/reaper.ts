import type { Lock } from '../redis/lock.ts';
import { fenceInstance } from './lease.ts';
import { endSome, type LeftoversDeps } from './leftovers.ts';

const INSTANCES_PER_PAGE = 100;
/** Enough to share pipelines, few enough that the calls of gateways are not kept waiting. */
const ORGS_AT_ONCE = 50;
/** Of one instance in one turn; the next turn goes on. */
const MAX_STEPS = 200;

export interface ReaperOptions extends LeftoversDeps {
  readonly lock: Lock;
  readonly leaseMs: number;
  /** How long an instance that could not be fenced is left alone. */
  readonly graceMs: number;
  /** Of an instance: this much is tried again in the next turn. */
  readonly onFailed: (instanceId: string, error: unknown) => void;
  readonly nowMs?: () => number;
}

/** Which servers may be believed that say nothing of an instance. */
export interface Watch {
  /** Asked for again and again, so that a pause is noticed. */
  look(): void;
  /** Whether what holds this key has been there long enough. */
  over(key: string): boolean;
}

/** Ends what dead gateway instances left. Any step may be repeated, by another limiter too: each record ends once. */
export class Reaper {
  readonly #options: ReaperOptions;
  readonly #nowMs: () => number;
  /** Instances that are left alone, and until when. */
  readonly #spared = new Map<string, number>();

  constructor(options: ReaperOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /**
   * One turn: a look at every instance, because no index tells by Redis' clock which of them are silent. Resolves to those that are gone
   * with all they held. What cannot be ended, and whose lease is with a server that is away, keeps nothing else from being ended. Rejects
   * when Redis is away, or what of it holds the index.
   */
  async turn(watch: Watch): Promise<string[]> {
    const { store, names } = this.#options;
    for (const [instanceId, untilMs] of this.#spared)
      if (untilMs <= this.#nowMs()) this.#spared.delete(instanceId);
    const gone: string[] = [];
    let cursor = '0';
    do {
      if (!(await this.#holds(watch))) break;
      const reply = await store.command('zscan', names.instances, cursor, 'COUNT', INSTANCES_PER_PAGE);
      const [next, membersAndScores] = reply as [string, string[]];
      cursor = next;
      const instanceIds = membersAndScores.filter((_, i) => i % 2 === 0);
      const dead = await Promise.all(instanceIds.map((instanceId) => this.#isDead(instanceId, watch)));
      for (const instanceId of instanceIds.filter((_, i) => dead[i]))
        if (await this.#reap(instanceId, watch)) gone.push(instanceId);
    } while (cursor !== '0');
    return gone;
  }

  /** False also when the lock went to another limiter, which goes on. */
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
      // What could not write a fence may have taken no heartbeats either, as one master of a cluster whose disk is full.
      this.#spared.set(instanceId, this.#nowMs() + graceMs);
      onFailed(instanceId, error);
      return false;
    }
  }

  /** True: nothing is left of it. */
  async #reap(instanceId: string, watch: Watch): Promise<boolean> {
    const { store, names, onFailed } = this.#options;
    try {
      // Complete: a dead instance joins no organization.
      const orgIds = (await store.command('smembers', names.orgsOf(instanceId))) as string[];
      if (!(await this.#reapOrgs(instanceId, orgIds, watch))) return false;
      await store.command('zrem', names.instances, instanceId);
      return true;
    } catch (error) {
      onFailed(instanceId, error);
      return false;
    }
  }

  /** Rejects, once the other organizations are done, for one that could not be. */
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
