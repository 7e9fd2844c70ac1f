import type { ScriptDeps } from '../script-deps.ts';
import { joinOrg } from './lease.ts';

/** Lets instances join organizations. Calls that want the same share one attempt. */
export class Joins {
  readonly #scriptDeps: ScriptDeps;
  readonly #underWay = new Map<string, Promise<boolean>>();

  constructor(scriptDeps: ScriptDeps) {
    this.#scriptDeps = scriptDeps;
  }

  /**
   * Records that the instance may hold something in the organization. Call it before the instance's
   * first admission there. Resolves to false if the lease is lost.
   */
  join(instanceId: string, orgId: string): Promise<boolean> {
    const name = `${instanceId} ${orgId}`;
    const joining = this.#underWay.get(name);
    if (joining) return joining;
    const promise = joinOrg(this.#scriptDeps, instanceId, orgId).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, promise);
    return promise;
  }
}
