import type { Admissions } from '../admission/admissions.ts';
import { largeBodyOf } from '../admission/large-body.ts';
import type { Context } from '../context.ts';
import type { Lock } from '../redis/lock.ts';
import { fenceInstance, leftIn } from './lease.ts';

const INSTANCES_PER_PAGE = 100;
const RECORDS_PER_STEP = 100;

export interface ReaperOptions extends Context {
  readonly admissions: Admissions;
  readonly lock: Lock;
  readonly leaseMs: number;
  readonly onReaped: (counts: { readonly settled: number; readonly withdrawn: number }) => void;
}

/** Ends what dead gateway instances left. Any step may be repeated, by another limiter too: each record ends once. */
export class Reaper {
  readonly #options: ReaperOptions;

  constructor(options: ReaperOptions) {
    this.#options = options;
  }

  /**
   * One turn: a look at every instance, because no index tells by Redis' clock which of them are silent. Resolves to those that are gone
   * with all they held. Rejects when Redis is away.
   */
  async turn(): Promise<string[]> {
    const { lock, leaseMs, store, names } = this.#options;
    const gone: string[] = [];
    let cursor = '0';
    do {
      if (!(await lock.hold())) return gone;
      const reply = await store.command('zscan', names.instances, cursor, 'COUNT', INSTANCES_PER_PAGE);
      const [next, membersAndScores] = reply as [string, string[]];
      cursor = next;
      const instanceIds = membersAndScores.filter((_, i) => i % 2 === 0);
      const found = await Promise.all(instanceIds.map((id) => fenceInstance(this.#options, id, leaseMs)));
      for (const instanceId of instanceIds.filter((_, i) => found[i] === 'dead')) {
        if (!(await this.#reapInstance(instanceId))) return gone;
        gone.push(instanceId);
      }
    } while (cursor !== '0');
    return gone;
  }

  /** False: the lock went to another limiter, which goes on. */
  async #reapInstance(instanceId: string): Promise<boolean> {
    const { store, names } = this.#options;
    // Complete: a dead instance joins no organization.
    const orgIds = (await store.command('smembers', names.orgsOf(instanceId))) as string[];
    for (const orgId of orgIds) {
      if (!(await this.#reapOrg(instanceId, orgId))) return false;
      await store.command('srem', names.orgsOf(instanceId), orgId);
    }
    await store.command('zrem', names.instances, instanceId);
    return true;
  }

  async #reapOrg(instanceId: string, orgId: string): Promise<boolean> {
    for (;;) {
      const left = await leftIn(this.#options, instanceId, orgId, RECORDS_PER_STEP);
      if (!left) return true;
      const ended = await Promise.all(
        left.map(({ field, record }) => this.#end(instanceId, orgId, field, record)),
      );
      const settled = ended.filter((end) => end === 'settled').length;
      const withdrawn = ended.filter((end) => end === 'withdrawn').length;
      this.#options.onReaped({ settled, withdrawn });
      if (!(await this.#options.lock.hold())) return false;
    }
  }

  async #end(
    instanceId: string,
    orgId: string,
    field: string,
    record: string,
  ): Promise<'settled' | 'withdrawn' | 'nothing'> {
    const { admissions } = this.#options;
    if (record === 'void') return 'nothing';
    const largeId = largeBodyOf(field);
    if (largeId !== null) {
      await admissions.releaseLargeBody({ orgId, instanceId, admissionId: largeId });
      return 'nothing';
    }
    const held = { orgId, instanceId, admissionId: field };
    // An admission that was not reserved is withdrawn by this too.
    const settled = await admissions.settle(held, {
      answered: false,
      usage: null,
      durationMs: null,
      errorCode: 'gateway_lost',
    });
    return settled ? 'settled' : 'withdrawn';
  }
}
