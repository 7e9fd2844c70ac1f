import type { Settlement } from '@tidegate/contracts';
import type { Context } from '../context.ts';
import type { Leases } from '../leases/leases.ts';
import type { Truth } from '../truth/truth.ts';
import { Undecided } from '../undecided.ts';
import { type Admission, admit } from './admit.ts';
import { countRequest } from './count-request.ts';
import type { Decision, DecisionReply } from './decision.ts';
import { atItsPlace, type Elsewhere, type Held, Places } from './held.ts';
import { releaseLargeBody, takeLargeBody } from './large-body.ts';
import { reserve } from './reserve.ts';
import { type LostAdmission, monthOfLost, restore, restoreSettled } from './restore.ts';
import { type Ending, settle } from './settle.ts';
import { withdraw } from './withdraw.ts';

/** Four kinds of state may be missing, and the month may turn. */
const MAX_ATTEMPTS = 6;

export interface AdmissionsDeps extends Context {
  readonly truth: Truth;
  readonly leases: Leases;
  /** Called when a reservation has been settled and its outbox entry written. */
  readonly onSettled: (settlement: Settlement) => void;
}

/**
 * The life of an admission: admitted, reserved, settled or withdrawn. Redis makes all decisions.
 * All rejections are Undecided.
 */
export class Admissions {
  readonly #deps: AdmissionsDeps;
  readonly #places = new Places();

  constructor(deps: AdmissionsDeps) {
    this.#deps = deps;
  }

  async admit(admission: Admission): Promise<Decision> {
    const { clock } = this.#deps;
    const { orgId, keyId, instanceId, admissionId } = admission;
    let month = clock.month().name;
    const decision = await this.#decide({ orgId, keyId, instanceId }, () => {
      month = clock.month().name;
      return admit(this.#deps, admission);
    });
    if (decision.kind === 'admitted')
      this.#places.put(admissionId, { keyId, month: admission.reserve ? month : '-' });
    return decision;
  }

  async reserve(held: Held): Promise<Decision> {
    const { clock } = this.#deps;
    let reserved = this.#places.get(held.admissionId);
    const decision = await atItsPlace<Decision>(reserved, ({ keyId }) =>
      this.#decide({ ...held, keyId }, () => {
        const month = clock.month();
        reserved = { keyId, month: month.name };
        return reserve(this.#deps, held, keyId, month);
      }),
    );
    if (decision.kind === 'admitted') this.#places.put(held.admissionId, reserved);
    return decision;
  }

  countRequest(orgId: string, keyId: string): Promise<Decision> {
    return this.#decide({ orgId, keyId }, () => countRequest(this.#deps, orgId, keyId));
  }

  async withdraw(held: Held): Promise<void> {
    await atItsPlace(this.#places.get(held.admissionId), (place) => withdraw(this.#deps, held, place));
    this.#places.drop(held.admissionId);
  }

  /** Resolves to true if this call settled it. */
  async settle(held: Held, ending: Ending): Promise<boolean> {
    const reply = await atItsPlace(this.#places.get(held.admissionId), (place) =>
      settle(this.#deps, held, place, ending),
    );
    this.#places.drop(held.admissionId);
    if (reply.kind === 'settled') this.#deps.onSettled(reply.settlement);
    // Nothing was counted, so there is nothing to charge.
    if (reply.kind === 'not_reserved') await this.withdraw(held);
    return reply.kind === 'settled';
  }

  /** @param restore whether the slot was taken before the organization's state was lost */
  takeLargeBody(held: Held, restore: boolean): Promise<'taken' | 'full' | 'lease_lost'> {
    return this.#inOrg(held, () => takeLargeBody(this.#deps, held, restore));
  }

  /** Restores an admission that was lost with its organization's state. */
  async restore(lost: LostAdmission): Promise<'restored' | 'present' | 'lease_lost'> {
    const restored = await this.#inOrg(lost, () => restore(this.#deps, lost));
    this.#places.put(lost.admissionId, { keyId: lost.keyId, month: monthOfLost(lost) ?? '-' });
    return restored;
  }

  releaseLargeBody(held: Held): Promise<void> {
    return releaseLargeBody(this.#deps, held);
  }

  /**
   * Restores the settlement of an admission that was lost with its organization's state. If it
   * arrives too late, it stays lost.
   */
  async restoreSettled(lost: LostAdmission, ending: Ending): Promise<void> {
    const { truth, onSettled } = this.#deps;
    let kept = await restoreSettled(this.#deps, lost, ending);
    for (let attempt = 1; kept.kind === 'need_org' && attempt < MAX_ATTEMPTS; attempt++) {
      await truth.seedOrg(lost.orgId);
      kept = await restoreSettled(this.#deps, lost, ending);
    }
    if (kept.kind === 'need_org') throw seededInVain();
    if (kept.kind === 'settled') onSettled(kept.settlement);
  }

  /** Asks until the organization is seeded and the instance is registered in it. */
  async #inOrg<T extends string>(
    { orgId, instanceId }: Held,
    ask: () => Promise<T | 'need_org' | 'need_join'>,
  ): Promise<Exclude<T, 'need_org' | 'need_join'> | 'lease_lost'> {
    const { truth, leases } = this.#deps;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const reply = await ask();
      if (reply === 'need_org') await truth.seedOrg(orgId);
      else if (reply !== 'need_join') return reply as Exclude<T, 'need_org' | 'need_join'>;
      else if (!(await leases.join(instanceId, orgId))) return 'lease_lost';
    }
    throw seededInVain();
  }

  /** Asks until nothing is missing. A key that Postgres does not know is invalid. */
  async #decide<T extends DecisionReply | Elsewhere>(
    { orgId, keyId, instanceId }: { orgId: string; keyId?: string; instanceId?: string },
    ask: () => Promise<T>,
  ): Promise<Decision | Extract<T, Elsewhere>> {
    const { truth, clock, leases } = this.#deps;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const reply: DecisionReply | Elsewhere = await ask();
      switch (reply.kind) {
        case 'need_org':
          await truth.seedOrg(orgId);
          break;
        case 'need_key':
          if (keyId === undefined || !(await truth.seedKey(orgId, keyId))) return { kind: 'key_invalid' };
          break;
        case 'need_join':
          if (instanceId === undefined || !(await leases.join(instanceId, orgId)))
            return { kind: 'lease_lost' };
          break;
        case 'need_month':
          await truth.seedMonth(orgId, clock.month().name);
          break;
        case 'month_turned':
          clock.observe(reply.nowUs);
          break;
        default:
          return reply as Decision | Extract<T, Elsewhere>;
      }
    }
    throw seededInVain();
  }
}

const seededInVain = (): Undecided => new Undecided('state', 'what was seeded is missing again');
