import type { Settlement } from '@tidegate/contracts';
import { Joins } from '../leases/joins.ts';
import type { ScriptDeps } from '../script-deps.ts';
import type { Seeder } from '../seeding/seeder.ts';
import { type NoOrg, type Subject, untilSeeded } from '../seeding/until-seeded.ts';
import { type AdmitInput, admit } from './admit.ts';
import { countRequest } from './count-request.ts';
import type { Decision } from './decision.ts';
import { type LargeBodyReply, releaseLargeBody, takeLargeBody } from './large-body.ts';
import type { AdmissionRef } from './ref.ts';
import { reserve } from './reserve.ts';
import { type LostAdmission, monthOfLost, restore, restoreSettled } from './restore.ts';
import { ScopeCache, UNKNOWN_SCOPE, withScope } from './scope.ts';
import { type RequestEnd, settle } from './settle.ts';
import { withdraw } from './withdraw.ts';

export interface AdmissionsDeps extends ScriptDeps {
  readonly seeder: Seeder;
  /**
   * Called when a reservation has been settled and its outbox entry written.
   * @param traceparent empty or undefined: it is not traced
   */
  readonly onSettled: (settlement: Settlement, traceparent?: string) => void;
  /** Called when a request that leaves no settlement was counted. `atMs` is Unix time. */
  readonly onCounted: (keyId: string, atMs: number) => void;
}

/**
 * The life of an admission: admitted, reserved, settled or withdrawn. Redis makes all decisions.
 * All rejections are LimiterError.
 */
export class Admissions {
  readonly #deps: AdmissionsDeps;
  readonly #joins: Joins;
  readonly #scopes = new ScopeCache();

  constructor(deps: AdmissionsDeps) {
    this.#deps = deps;
    this.#joins = new Joins(deps);
  }

  async admit(call: AdmitInput): Promise<Decision> {
    const { clock } = this.#deps;
    const { keyId, admissionId } = call;
    let admitted = UNKNOWN_SCOPE;
    const reply = await untilSeeded(this.#deps, this.#joining(call), () => {
      const month = clock.month();
      admitted = { keyId, month: call.reserve ? month.name : '-' };
      return admit(this.#deps, call, month);
    });
    const decision = decisionOf(reply);
    if (decision.kind === 'admitted') this.#scopes.put(admissionId, admitted);
    return decision;
  }

  async reserve(ref: AdmissionRef): Promise<Decision> {
    const { clock } = this.#deps;
    let reserved = this.#scopes.get(ref.admissionId);
    const decision = await withScope<Decision>(reserved, async ({ keyId }) => {
      const reply = await untilSeeded(this.#deps, this.#joining({ ...ref, keyId }), () => {
        const month = clock.month();
        reserved = { keyId, month: month.name };
        return reserve(this.#deps, ref, keyId, month);
      });
      return decisionOf(reply);
    });
    if (decision.kind === 'admitted') this.#scopes.put(ref.admissionId, reserved);
    return decision;
  }

  async countRequest(orgId: string, keyId: string): Promise<Decision> {
    const subject = { orgId, keyId };
    const reply = await untilSeeded(this.#deps, subject, () => countRequest(this.#deps, orgId, keyId));
    const decision = decisionOf(reply);
    if (decision.kind === 'admitted') this.#deps.onCounted(keyId, decision.nowUs / 1_000);
    return decision;
  }

  async withdraw(ref: AdmissionRef): Promise<void> {
    await withScope(this.#scopes.get(ref.admissionId), (scope) => withdraw(this.#deps, ref, scope));
    this.#scopes.drop(ref.admissionId);
  }

  /** Resolves to true if this call settled it. */
  async settle(ref: AdmissionRef, end: RequestEnd, traceparent?: string): Promise<boolean> {
    const reply = await withScope(this.#scopes.get(ref.admissionId), (scope) =>
      settle(this.#deps, ref, scope, end),
    );
    this.#scopes.drop(ref.admissionId);
    if (reply.kind === 'settled') this.#deps.onSettled(reply.settlement, traceparent);
    // Nothing was counted, so there is nothing to charge.
    if (reply.kind === 'not_reserved') await this.withdraw(ref);
    return reply.kind === 'settled';
  }

  /** @param restore whether the slot was taken before the organization's state was lost */
  async takeLargeBody(ref: AdmissionRef, restore: boolean): Promise<LargeBodyReply> {
    const reply = await untilSeeded(this.#deps, this.#joining(ref), () =>
      takeLargeBody(this.#deps, ref, restore),
    );
    return reply.kind === 'no_org' ? { kind: 'lease_lost' } : reply;
  }

  /**
   * Restores an admission that was lost with its organization's state. Nothing is held for a
   * deleted organization, so there is nothing to restore.
   */
  async restore(lost: LostAdmission): Promise<'restored' | 'present' | 'lease_lost' | 'no_org'> {
    const reply = await untilSeeded(this.#deps, this.#joining(lost), async () => ({
      kind: await restore(this.#deps, lost),
    }));
    this.#scopes.put(lost.admissionId, { keyId: lost.keyId, month: monthOfLost(lost) ?? '-' });
    return reply.kind;
  }

  releaseLargeBody(ref: AdmissionRef): Promise<void> {
    return releaseLargeBody(this.#deps, ref);
  }

  /**
   * Restores the settlement of an admission that was lost with its organization's state. If it
   * arrives too late, it stays lost.
   */
  async restoreSettled(lost: LostAdmission, end: RequestEnd): Promise<void> {
    const { orgId } = lost;
    const kept = await untilSeeded(this.#deps, { orgId }, () => restoreSettled(this.#deps, lost, end));
    if (kept.kind === 'settled') this.#deps.onSettled(kept.settlement);
  }

  /** Lets `untilSeeded` register an instance. */
  #joining({
    orgId,
    instanceId,
    keyId,
  }: Pick<AdmissionRef, 'orgId' | 'instanceId'> & { keyId?: string }): Subject {
    return { orgId, ...(keyId ? { keyId } : {}), join: () => this.#joins.join(instanceId, orgId) };
  }
}

/** A deleted organization has no valid keys. */
const decisionOf = <D extends { readonly kind: string }>(reply: D | NoOrg) =>
  reply.kind === 'no_org' ? ({ kind: 'key_invalid' } as const) : (reply as Exclude<D, NoOrg>);
