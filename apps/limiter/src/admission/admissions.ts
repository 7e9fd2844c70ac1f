import type { Settlement } from '@tidegate/contracts';
import type { Context } from '../context.ts';
import type { Leases } from '../leases/leases.ts';
import { LimiterError } from '../limiter-error.ts';
import type { Seeder } from '../seeding/seeder.ts';
import { type AdmitCall, admit } from './admit.ts';
import { countRequest } from './count-request.ts';
import type { Decision, DecisionReply } from './decision.ts';
import { releaseLargeBody, takeLargeBody } from './large-body.ts';
import type { AdmissionRef } from './ref.ts';
import { reserve } from './reserve.ts';
import { type LostAdmission, monthOfLost, restore, restoreSettled } from './restore.ts';
import { ScopeCache, type WrongScope, withScope } from './scope.ts';
import { type RequestEnd, settle } from './settle.ts';
import { withdraw } from './withdraw.ts';

/** Four kinds of state may be missing, and the month may turn. */
const MAX_ATTEMPTS = 6;

export interface AdmissionsDeps extends Context {
  readonly seeder: Seeder;
  readonly leases: Leases;
  /** Called when a reservation has been settled and its outbox entry written. */
  readonly onSettled: (settlement: Settlement) => void;
}

/**
 * The life of an admission: admitted, reserved, settled or withdrawn. Redis makes all decisions.
 * All rejections are LimiterError.
 */
export class Admissions {
  readonly #deps: AdmissionsDeps;
  readonly #scopes = new ScopeCache();

  constructor(deps: AdmissionsDeps) {
    this.#deps = deps;
  }

  async admit(call: AdmitCall): Promise<Decision> {
    const { clock } = this.#deps;
    const { orgId, keyId, instanceId, admissionId } = call;
    let month = clock.month().name;
    const decision = await this.#decide({ orgId, keyId, instanceId }, () => {
      month = clock.month().name;
      return admit(this.#deps, call);
    });
    if (decision.kind === 'admitted')
      this.#scopes.put(admissionId, { keyId, month: call.reserve ? month : '-' });
    return decision;
  }

  async reserve(ref: AdmissionRef): Promise<Decision> {
    const { clock } = this.#deps;
    let reserved = this.#scopes.get(ref.admissionId);
    const decision = await withScope<Decision>(reserved, ({ keyId }) =>
      this.#decide({ ...ref, keyId }, () => {
        const month = clock.month();
        reserved = { keyId, month: month.name };
        return reserve(this.#deps, ref, keyId, month);
      }),
    );
    if (decision.kind === 'admitted') this.#scopes.put(ref.admissionId, reserved);
    return decision;
  }

  countRequest(orgId: string, keyId: string): Promise<Decision> {
    return this.#decide({ orgId, keyId }, () => countRequest(this.#deps, orgId, keyId));
  }

  async withdraw(ref: AdmissionRef): Promise<void> {
    await withScope(this.#scopes.get(ref.admissionId), (scope) => withdraw(this.#deps, ref, scope));
    this.#scopes.drop(ref.admissionId);
  }

  /** Resolves to true if this call settled it. */
  async settle(ref: AdmissionRef, end: RequestEnd): Promise<boolean> {
    const reply = await withScope(this.#scopes.get(ref.admissionId), (scope) =>
      settle(this.#deps, ref, scope, end),
    );
    this.#scopes.drop(ref.admissionId);
    if (reply.kind === 'settled') this.#deps.onSettled(reply.settlement);
    // Nothing was counted, so there is nothing to charge.
    if (reply.kind === 'not_reserved') await this.withdraw(ref);
    return reply.kind === 'settled';
  }

  /** @param restore whether the slot was taken before the organization's state was lost */
  takeLargeBody(ref: AdmissionRef, restore: boolean): Promise<'taken' | 'full' | 'lease_lost'> {
    return this.#inOrg(ref, () => takeLargeBody(this.#deps, ref, restore));
  }

  /** Restores an admission that was lost with its organization's state. */
  async restore(lost: LostAdmission): Promise<'restored' | 'present' | 'lease_lost'> {
    const restored = await this.#inOrg(lost, () => restore(this.#deps, lost));
    this.#scopes.put(lost.admissionId, { keyId: lost.keyId, month: monthOfLost(lost) ?? '-' });
    return restored;
  }

  releaseLargeBody(ref: AdmissionRef): Promise<void> {
    return releaseLargeBody(this.#deps, ref);
  }

  /**
   * Restores the settlement of an admission that was lost with its organization's state. If it
   * arrives too late, it stays lost.
   */
  async restoreSettled(lost: LostAdmission, end: RequestEnd): Promise<void> {
    const { seeder, onSettled } = this.#deps;
    let kept = await restoreSettled(this.#deps, lost, end);
    for (let attempt = 1; kept.kind === 'need_org' && attempt < MAX_ATTEMPTS; attempt++) {
      await seeder.seedOrg(lost.orgId);
      kept = await restoreSettled(this.#deps, lost, end);
    }
    if (kept.kind === 'need_org') throw stateMissing();
    if (kept.kind === 'settled') onSettled(kept.settlement);
  }

  /** Asks until the organization is seeded and the instance is registered in it. */
  async #inOrg<T extends string>(
    { orgId, instanceId }: AdmissionRef,
    ask: () => Promise<T | 'need_org' | 'need_join'>,
  ): Promise<Exclude<T, 'need_org' | 'need_join'> | 'lease_lost'> {
    const { seeder, leases } = this.#deps;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const reply = await ask();
      if (reply === 'need_org') await seeder.seedOrg(orgId);
      else if (reply !== 'need_join') return reply as Exclude<T, 'need_org' | 'need_join'>;
      else if (!(await leases.join(instanceId, orgId))) return 'lease_lost';
    }
    throw stateMissing();
  }

  /** Asks until nothing is missing. A key that Postgres does not know is invalid. */
  async #decide<T extends DecisionReply | WrongScope>(
    { orgId, keyId, instanceId }: { orgId: string; keyId?: string; instanceId?: string },
    ask: () => Promise<T>,
  ): Promise<Decision | Extract<T, WrongScope>> {
    const { seeder, clock, leases } = this.#deps;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const reply: DecisionReply | WrongScope = await ask();
      switch (reply.kind) {
        case 'need_org':
          await seeder.seedOrg(orgId);
          break;
        case 'need_key':
          if (keyId === undefined || !(await seeder.seedKey(orgId, keyId))) return { kind: 'key_invalid' };
          break;
        case 'need_join':
          if (instanceId === undefined || !(await leases.join(instanceId, orgId)))
            return { kind: 'lease_lost' };
          break;
        case 'need_month':
          await seeder.seedMonth(orgId, clock.month().name);
          break;
        case 'month_turned':
          clock.observe(reply.nowUs);
          break;
        default:
          return reply as Decision | Extract<T, WrongScope>;
      }
    }
    throw stateMissing();
  }
}

const stateMissing = (): LimiterError =>
  new LimiterError('state', 'state is missing again after it was seeded');
