import type { Context } from '../context.ts';
import { beat, joinOrg } from './lease.ts';

/** Instances whose organizations are remembered; gateways are few. */
const MAX_INSTANCES = 1_000;

/** Leases as one limiter sees them. What it remembers spares a question per admission, and is only ever a true `yes`. */
export class Leases {
  readonly #context: Context;
  readonly #joined = new Map<string, Set<string>>();
  readonly #joining = new Map<string, Promise<boolean>>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** False: the lease is lost. */
  async heartbeat(instanceId: string): Promise<boolean> {
    const alive = await beat(this.#context, instanceId);
    if (!alive) this.#joined.delete(instanceId);
    return alive;
  }

  hasJoined(instanceId: string, orgId: string): boolean {
    return this.#joined.get(instanceId)?.has(orgId) ?? false;
  }

  /** Notes where the instance may hold something; before its first admission there. False: the lease is lost. */
  join(instanceId: string, orgId: string): Promise<boolean> {
    const name = `${instanceId} ${orgId}`;
    const joining = this.#joining.get(name);
    if (joining) return joining;
    const promise = this.#join(instanceId, orgId).finally(() => this.#joining.delete(name));
    this.#joining.set(name, promise);
    return promise;
  }

  /** Redis may have lost its last second: ask again. */
  forget(): void {
    this.#joined.clear();
    this.#joining.clear();
  }

  async #join(instanceId: string, orgId: string): Promise<boolean> {
    if (!(await joinOrg(this.#context, instanceId, orgId))) return false;
    const orgs = this.#joined.get(instanceId) ?? new Set();
    this.#joined.set(instanceId, orgs.add(orgId));
    if (this.#joined.size > MAX_INSTANCES) {
      const oldest = this.#joined.keys().next().value;
      if (oldest !== undefined) this.#joined.delete(oldest);
    }
    return true;
  }
}
