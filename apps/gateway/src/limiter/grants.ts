import type { Restore, Settle } from '@tidegate/rpc';
import type { Asked, Held } from './held.ts';
import { Ring } from './ring.ts';
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
  /** Monotonic; 0: not settled. */
  settledAtMs: number;
}

interface LargeBody {
  readonly held: Held;
  ended: LimiterCall | null;
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
  /** The oldest first. */
  readonly #settled: Ring<Grant>;
  readonly #largeBodies = new Map<string, LargeBody>();

  constructor(options: GrantsOptions) {
    this.#options = options;
    this.#settled = new Ring(options.maxSettled);
  }

  get size(): number {
    return this.#open.size + this.#settled.size + this.#largeBodies.size;
  }

  /** @param admittedAtMs the limiter's time */
  admitted(admit: Asked, admittedAtMs: number): void {
    const reservedAtMs = admit.reserve ? admittedAtMs : 0;
    this.#open.set(admit.admissionId, { admit, admittedAtMs, reservedAtMs, ended: null, settledAtMs: 0 });
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
    grant.settledAtMs = this.#options.nowMs();
    this.#settled.push(grant);
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
    this.#settled.dropWhile(({ settledAtMs }) => settledAtMs <= beforeMs);
  }

  /** The limiter has ended all that this instance held. */
  forget(instanceId: string): void {
    for (const [id, { admit }] of this.#open) if (admit.instanceId === instanceId) this.#open.delete(id);
    this.#settled.keep(({ admit }) => admit.instanceId !== instanceId);
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
    for (const grant of this.#settled)
      if (wanted(grant.admit))
        all.push({
          instanceId: grant.admit.instanceId,
          restore: { restore: { ...restoreOf(grant), settle: grant.ended?.settle ?? null } },
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
}

function restoreOf({ admit, admittedAtMs, reservedAtMs }: Grant): Restore {
  const { hasImages, reserve, ...what } = admit;
  return { ...what, admittedAtMs, reservedAtMs };
}
