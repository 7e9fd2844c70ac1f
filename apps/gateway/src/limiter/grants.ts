import type { Restore, Settle } from '@tidegate/rpc';
import type { Asked, Held } from './held.ts';
import type { LimiterCall } from './session.ts';

/**
 * How long a settlement is remembered after it was acknowledged: metering has written it by then, unless it is behind, and whatever
 * Redis has lost is noticed within 20 s.
 */
const REMEMBER_MS = 30_000;

interface Grant {
  readonly admit: Asked;
  readonly admittedAtMs: number;
  /** 0: not reserved. */
  reservedAtMs: number;
  /** What has ended it: told once more after it was put back. */
  ended: LimiterCall | null;
}

interface LargeBody {
  readonly held: Held;
  ended: LimiterCall | null;
}

interface Settled extends Grant {
  readonly settle: Settle;
  readonly atMs: number;
}

/** What puts one grant back. A request may end meanwhile: the rest is as of when it is asked for. */
export interface Lost {
  readonly instanceId: string;
  readonly restore: LimiterCall;
  readonly isHeld: () => boolean;
  /** What has ended it, if it has ended meanwhile: to be told again once it is back. */
  readonly ended: () => LimiterCall | null;
}

export interface GrantsOptions {
  /** Settled ones remembered at most; the oldest go first. */
  readonly maxSettled: number;
  /** Monotonic. */
  readonly nowMs: () => number;
}

/**
 * What the limiter has granted to this process, and the settlements it may not have kept yet: so that they can be told again when the
 * limiter's live state was lost. Each request has at most one grant and one large body.
 */
export class Grants {
  readonly #options: GrantsOptions;
  readonly #open = new Map<string, Grant>();
  readonly #settled = new Map<string, Settled>();
  readonly #largeBodies = new Map<string, LargeBody>();

  constructor(options: GrantsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size + this.#settled.size + this.#largeBodies.size;
  }

  /** @param admittedAtMs the limiter's time */
  admitted(admit: Asked, admittedAtMs: number): void {
    const reservedAtMs = admit.reserve ? admittedAtMs : 0;
    this.#open.set(admit.admissionId, { admit, admittedAtMs, reservedAtMs, ended: null });
  }

  /** @param atMs the limiter's time */
  reserved({ admissionId }: Held, atMs: number): void {
    const grant = this.#open.get(admissionId);
    if (grant) grant.reservedAtMs = atMs;
  }

  withdrawn(held: Held): void {
    this.#end(held, { withdraw: held });
  }

  settled(held: Held, settle: Settle): void {
    const grant = this.#end(held, { settle });
    if (!grant) return;
    const { maxSettled, nowMs } = this.#options;
    this.#settled.set(held.admissionId, { ...grant, settle, atMs: nowMs() });
    if (this.#settled.size > maxSettled) this.#forgetOldest();
  }

  tookLargeBody(held: Held): void {
    this.#largeBodies.set(held.admissionId, { held, ended: null });
  }

  releasedLargeBody(held: Held): void {
    const body = this.#largeBodies.get(held.admissionId);
    if (!body) return;
    body.ended = { releaseLargeBody: held };
    this.#largeBodies.delete(held.admissionId);
  }

  /** The limiter's live state is there: what was settled long enough before is kept. */
  confirmed(): void {
    const beforeMs = this.#options.nowMs() - REMEMBER_MS;
    for (const { atMs } of this.#settled.values()) {
      if (atMs > beforeMs) return;
      this.#forgetOldest();
    }
  }

  /** The limiter has ended all that this instance held. */
  forget(instanceId: string): void {
    for (const grants of [this.#open, this.#settled])
      for (const [id, { admit }] of grants) if (admit.instanceId === instanceId) grants.delete(id);
    for (const [id, { held }] of this.#largeBodies)
      if (held.instanceId === instanceId) this.#largeBodies.delete(id);
  }

  /** Of one organization, or of all. */
  lost(orgId?: string): Lost[] {
    const all: Lost[] = [];
    const wanted = (of: { readonly orgId: string }) => orgId === undefined || of.orgId === orgId;
    for (const [id, grant] of this.#open)
      if (wanted(grant.admit))
        all.push({
          instanceId: grant.admit.instanceId,
          restore: { restore: restoreOf(grant) },
          isHeld: () => this.#open.has(id),
          ended: () => grant.ended,
        });
    for (const grant of this.#settled.values())
      if (wanted(grant.admit))
        all.push({
          instanceId: grant.admit.instanceId,
          restore: { restore: { ...restoreOf(grant), settle: grant.settle } },
          isHeld: () => false,
          ended: () => null,
        });
    for (const body of this.#largeBodies.values())
      if (wanted(body.held))
        all.push({
          instanceId: body.held.instanceId,
          restore: { takeLargeBody: { ...body.held, restore: true } },
          isHeld: () => this.#largeBodies.has(body.held.admissionId),
          ended: () => body.ended,
        });
    return all;
  }

  #end({ admissionId }: Held, ended: LimiterCall): Grant | undefined {
    const grant = this.#open.get(admissionId);
    if (!grant) return undefined;
    grant.ended = ended;
    this.#open.delete(admissionId);
    return grant;
  }

  #forgetOldest(): void {
    const oldest = this.#settled.keys().next();
    if (!oldest.done) this.#settled.delete(oldest.value);
  }
}

function restoreOf({ admit, admittedAtMs, reservedAtMs }: Grant): Restore {
  const { hasImages, reserve, ...what } = admit;
  return { ...what, admittedAtMs, reservedAtMs };
}
