import type { ScriptDeps } from '../script-deps.ts';
import { type HeartbeatReply, joinOrg, sendHeartbeat } from './lease.ts';

/**
 * Leases from one limiter's point of view. Redis knows whether an instance has joined an
 * organization, and keeps that beside what the instance holds there.
 */
export class Leases {
  readonly #scriptDeps: ScriptDeps;
  readonly #joining = new Map<string, Promise<boolean>>();

  constructor(scriptDeps: ScriptDeps) {
    this.#scriptDeps = scriptDeps;
  }

  /** @param registered whether an earlier heartbeat of the instance was answered */
  heartbeat(instanceId: string, registered: boolean): Promise<HeartbeatReply> {
    return sendHeartbeat(this.#scriptDeps, instanceId, registered);
  }

  /**
   * Records that the instance may hold something in the organization. Call it before the instance's
   * first admission there. Resolves to false if the lease is lost.
   */
  join(instanceId: string, orgId: string): Promise<boolean> {
    const name = `${instanceId} ${orgId}`;
    const joining = this.#joining.get(name);
    if (joining) return joining;
    const promise = joinOrg(this.#scriptDeps, instanceId, orgId).finally(() => this.#joining.delete(name));
    this.#joining.set(name, promise);
    return promise;
  }
}
