import type { Restore, Settle } from '@tidegate/rpc';
import { LinkedList } from '../linked-list.ts';
import type { AdmissionHandle, AdmitCall, Grant } from './calls.ts';
import { Ring } from './ring.ts';
import type { LimiterCall } from './session.ts';

/**
 * How long a settlement is remembered after it was acknowledged. Metering has written it by then,
 * unless it is behind, and a loss of Redis state is noticed within 20 s.
 */
const REMEMBER_MS = 30_000;

interface LargeBody {
  readonly handle: AdmissionHandle;
  ended: LimiterCall | null;
}

/**
 * A grant to restore. Its request may end in the meantime, so `isHeld` and `ended` report the state
 * at the time of the call.
 */
export interface LostGrant {
  /** The grant or large body. Each attempt to restore it has the same object here. */
  readonly subject: object;
  readonly instanceId: string;
  readonly restore: LimiterCall;
  readonly isHeld: () => boolean;
  /** The call that ended the grant meanwhile, if any. It must be sent again after the restore. */
  readonly ended: () => LimiterCall | null;
  /** Whether its instance has ended. Then the limiter ends what it held, so nothing is restored. */
  readonly isDropped: () => boolean;
}

export interface GrantsOptions {
  /** How many acknowledged settlements to remember at most. The oldest are forgotten first. */
  readonly maxSettled: number;
  /** Monotonic clock. */
  readonly nowMs: () => number;
}

/**
 * Remembers what the limiter granted to this process, and the settlements it may not have stored
 * yet. If the limiter loses its live state, they can be sent again. Each request has at most one
 * grant and one large body.
 */
export class Grants {
  readonly #options: GrantsOptions;
  readonly #open = new LinkedList<Grant>();
  /** Grants whose settlement is not acknowledged yet. `Unacknowledged` bounds their number. */
  readonly #settling = new LinkedList<Grant>();
  /** Grants whose settlement is acknowledged, the oldest first. */
  readonly #settled: Ring<Grant>;
  readonly #largeBodies = new Map<string, LargeBody>();

  constructor(options: GrantsOptions) {
    this.#options = options;
    this.#settled = new Ring(options.maxSettled);
  }

  get size(): number {
    return this.#open.size + this.#settling.size + this.#settled.size + this.#largeBodies.size;
  }

  /** @param admittedAtMs by the limiter's clock */
  admitted(handle: AdmissionHandle, admit: AdmitCall, admittedAtMs: number): void {
    const grant: Grant = {
      admit,
      admittedAtMs,
      reservedAtMs: admit.reserve ? admittedAtMs : 0,
      ended: null,
      acknowledgedAtMs: 0,
      previous: null,
      next: null,
      listed: false,
    };
    handle.grant = grant;
    this.#open.add(grant);
  }

  /** @param atMs by the limiter's clock */
  reserved({ grant }: AdmissionHandle, atMs: number): void {
    if (grant && isOpen(grant)) grant.reservedAtMs = atMs;
  }

  withdrawn(handle: AdmissionHandle): void {
    this.#end(handle, { withdraw: handle });
  }

  settled(handle: AdmissionHandle, settle: Settle): void {
    const grant = this.#end(handle, { settle });
    if (grant) this.#settling.add(grant);
  }

  /** The limiter has acknowledged the settlement. */
  acknowledged({ grant }: AdmissionHandle): void {
    if (!grant?.listed || !grant.ended) return;
    this.#settling.delete(grant);
    grant.acknowledgedAtMs = this.#options.nowMs();
    this.#settled.push(grant);
  }

  tookLargeBody(handle: AdmissionHandle): void {
    this.#largeBodies.set(handle.admissionId, { handle, ended: null });
  }

  releasedLargeBody(handle: AdmissionHandle): void {
    const body = this.#largeBodies.get(handle.admissionId);
    if (!body) return;
    body.ended = { releaseLargeBody: handle };
    this.#largeBodies.delete(handle.admissionId);
  }

  /**
   * The limiter's live state is intact, so settlements that are old enough need not be remembered.
   */
  stateIntact(): void {
    const beforeMs = this.#options.nowMs() - REMEMBER_MS;
    this.#settled.dropWhile(({ acknowledgedAtMs }) => acknowledgedAtMs <= beforeMs);
  }

  /** The limiter has ended everything that this instance held. */
  forget(instanceId: string): void {
    this.dropHeld(instanceId);
    dropOf(instanceId, this.#settling);
    this.#settled.keep(({ admit }) => admit.instanceId !== instanceId);
  }

  /** The limiter will end what this instance still holds. What has ended is still remembered. */
  dropHeld(instanceId: string): void {
    dropOf(instanceId, this.#open);
    for (const [id, { handle }] of this.#largeBodies)
      if (handle.instanceId === instanceId) this.#largeBodies.delete(id);
  }

  /**
   * What to restore for one organization, or for all: each grant that is remembered now, as it is
   * when the loop reaches it.
   */
  *toRestore(orgId?: string): Generator<LostGrant> {
    const wanted = (of: { readonly orgId: string }) => orgId === undefined || of.orgId === orgId;
    const grants: Grant[] = [];
    for (const some of [this.#open, this.#settling, this.#settled])
      for (const grant of some) if (wanted(grant.admit)) grants.push(grant);
    const bodies = [...this.#largeBodies.values()].filter(({ handle }) => wanted(handle));
    for (const grant of grants) {
      if (isOpen(grant)) yield lostGrantOf(grant);
      else if (grant.ended?.settle) yield lostSettlementOf(grant, grant.ended.settle);
    }
    for (const body of bodies) if (this.#holds(body)) yield this.#lostLargeBody(body);
  }

  #holds(body: LargeBody): boolean {
    return this.#largeBodies.get(body.handle.admissionId) === body;
  }

  #lostLargeBody(body: LargeBody): LostGrant {
    const { handle } = body;
    return {
      subject: body,
      instanceId: handle.instanceId,
      restore: { takeLargeBody: { ...handle, restore: true } },
      isHeld: () => this.#holds(body),
      ended: () => body.ended,
      isDropped: () => !this.#holds(body) && !body.ended,
    };
  }

  #end({ grant }: AdmissionHandle, ended: LimiterCall): Grant | null {
    if (!grant || !isOpen(grant)) return null;
    grant.ended = ended;
    this.#open.delete(grant);
    return grant;
  }
}

const isOpen = ({ listed, ended }: Grant): boolean => listed && !ended;

function dropOf(instanceId: string, grants: LinkedList<Grant>): void {
  for (const grant of grants) if (grant.admit.instanceId === instanceId) grants.delete(grant);
}

const lostGrantOf = (grant: Grant): LostGrant => ({
  subject: grant,
  instanceId: grant.admit.instanceId,
  restore: { restore: restoreOf(grant) },
  isHeld: () => isOpen(grant),
  ended: () => grant.ended,
  isDropped: () => !grant.listed && !grant.ended,
});

const lostSettlementOf = (grant: Grant, settle: Settle): LostGrant => ({
  subject: grant,
  instanceId: grant.admit.instanceId,
  restore: { restore: { ...restoreOf(grant), settle } },
  isHeld: () => false,
  ended: () => null,
  isDropped: () => false,
});

function restoreOf({ admit, admittedAtMs, reservedAtMs }: Grant): Restore {
  const { hasImages, reserve, ...what } = admit;
  return { ...what, admittedAtMs, reservedAtMs };
}
