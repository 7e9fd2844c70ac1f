import type { Settlement } from '@tidegate/contracts';
import type { Context } from '../context.ts';
import type { Leases } from '../leases/leases.ts';
import type { Truth } from '../truth/truth.ts';
import { type Subject, untilSeeded } from '../truth/until-seeded.ts';
import { type Admission, admit } from './admit.ts';
import { countRequest } from './count-request.ts';
import type { Decision } from './decision.ts';
import { atItsPlace, type Held, Places } from './held.ts';
import { releaseLargeBody, takeLargeBody } from './large-body.ts';
import { reserve } from './reserve.ts';
import { type LostAdmission, monthOfLost, restore, restoreSettled } from './restore.ts';
import { type Ending, settle } from './settle.ts';
import { withdraw } from './withdraw.ts';

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
    const { keyId, admissionId } = admission;
    let month = clock.month().name;
    const decision = await untilSeeded(this.#deps, this.#joining(admission), () => {
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
      untilSeeded(this.#deps, this.#joining({ ...held, keyId }), () => {
        const month = clock.month();
        reserved = { keyId, month: month.name };
        return reserve(this.#deps, held, keyId, month);
      }),
    );
    if (decision.kind === 'admitted') this.#places.put(held.admissionId, reserved);
    return decision;
  }

  countRequest(orgId: string, keyId: string): Promise<Decision> {
    return untilSeeded(this.#deps, { orgId, keyId }, () => countRequest(this.#deps, orgId, keyId));
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
  async takeLargeBody(held: Held, restore: boolean): Promise<'taken' | 'full' | 'lease_lost'> {
    const reply = await untilSeeded(this.#deps, this.#joining(held), async () => ({
      kind: await takeLargeBody(this.#deps, held, restore),
    }));
    return reply.kind;
  }

  /** Restores an admission that was lost with its organization's state. */
  async restore(lost: LostAdmission): Promise<'restored' | 'present' | 'lease_lost'> {
    const reply = await untilSeeded(this.#deps, this.#joining(lost), async () => ({
      kind: await restore(this.#deps, lost),
    }));
    this.#places.put(lost.admissionId, { keyId: lost.keyId, month: monthOfLost(lost) ?? '-' });
    return reply.kind;
  }

  releaseLargeBody(held: Held): Promise<void> {
    return releaseLargeBody(this.#deps, held);
  }

  /**
   * Restores the settlement of an admission that was lost with its organization's state. If it
   * arrives too late, it stays lost.
   */
  async restoreSettled(lost: LostAdmission, ending: Ending): Promise<void> {
    const { orgId } = lost;
    const kept = await untilSeeded(this.#deps, { orgId }, () => restoreSettled(this.#deps, lost, ending));
    if (kept.kind === 'settled') this.#deps.onSettled(kept.settlement);
  }

  /** Lets `untilSeeded` register an instance. */
  #joining({ orgId, instanceId, keyId }: Pick<Held, 'orgId' | 'instanceId'> & { keyId?: string }): Subject {
    return { orgId, ...(keyId ? { keyId } : {}), join: () => this.#deps.leases.join(instanceId, orgId) };
  }
}
