import { isRefusal, PASSED, type Passed, type Refusal } from '@tidegate/contracts';
import type { ByteBudget } from '../body/byte-budget.ts';
import type { Activity } from '../catalog/activity.ts';
import type { Ending } from '../ending.ts';
import type { Admission } from '../limiter/admission.ts';
import type { AdmissionHandle, AdmitRequest, RemoteLimiter } from '../limiter/remote-limiter.ts';
import type { RequestTrace } from '../observe/trace.ts';
import { BUSY, INTERNAL_ERROR } from '../refusals.ts';
import { settlementOf } from './settlement.ts';

export interface SharedParts {
  readonly limiter: RemoteLimiter;
  readonly bodyBudget: ByteBudget;
  readonly activity: Activity;
}

/** No more than this of an answer is kept without counting it. Most answers are smaller. */
const SMALL_ANSWER_BYTES = 64 * 1024;

/**
 * The shared resources that one completion holds: memory, a large-body slot, its model, an
 * admission. The completion takes them only through this class. One `release` gives them back,
 * however the completion ends, but for the memory of an answer that its client has not taken yet.
 *
 * A grant of the limiter counts as held from the moment it is requested. So if the lease is lost
 * before the limiter's reply is read, the grant is known to be lost with it.
 */
export class Holdings {
  readonly #shared: SharedParts;
  readonly orgId: string;
  readonly #requestId: string;
  readonly #trace: RequestTrace | null;
  #bytes = 0;
  #answerBytes = 0;
  #largeBody: AdmissionHandle | null = null;
  #modelId: string | null = null;
  #admission: AdmissionHandle | null = null;
  #admissionAsked = false;
  /** Monotonic time. Null until the request is counted. */
  #countedAtMs: number | null = null;

  constructor(shared: SharedParts, orgId: string, requestId: string, trace: RequestTrace | null = null) {
    this.#shared = shared;
    this.orgId = orgId;
    this.#requestId = requestId;
    this.#trace = trace;
  }

  /** Whether the request is counted, so that its reservation is open until the release. */
  get counted(): boolean {
    return this.#countedAtMs !== null;
  }

  /** Whether the limiter was asked for an admission, which includes a check of the key. */
  get admissionAsked(): boolean {
    return this.#admissionAsked;
  }

  /** Whether the limiter must be told that the request is over. */
  get toSettle(): boolean {
    return this.#admission !== null || this.#largeBody !== null;
  }

  /** Memory held for the request's body, its linked images and its answer. */
  get bytes(): number {
    return this.#bytes + this.#answerBytes;
  }

  takeBytes(bytes: number): Passed | Refusal {
    if (!this.#shared.bodyBudget.take(this.orgId, bytes)) return BUSY;
    this.#bytes += bytes;
    return PASSED;
  }

  /**
   * Sets how much of the answer has to be kept now. Returns false, changing nothing, if that much
   * memory is not available.
   */
  holdAnswer(bytes: number): boolean {
    const counted = bytes > SMALL_ANSWER_BYTES ? bytes : 0;
    const more = counted - this.#answerBytes;
    if (more === 0) return true;
    const { bodyBudget } = this.#shared;
    if (more < 0) bodyBudget.release(this.orgId, -more);
    else if (!bodyBudget.take(this.orgId, more)) return false;
    this.#answerBytes = counted;
    return true;
  }

  /** Gives back the memory of the answer, but for what its client has not taken yet. */
  releaseAnswer(unsentBytes: number): void {
    this.holdAnswer(Math.min(unsentBytes, this.#answerBytes));
  }

  /** Takes one of the organization's slots for large bodies. */
  async takeLargeBody(): Promise<Passed | Refusal> {
    const { limiter } = this.#shared;
    const handle = limiter.admissionHandle(this.orgId, this.#requestId);
    this.#largeBody = handle;
    const taken = await limiter.takeLargeBody(handle, this.#trace?.onward);
    if (isRefusal(taken)) this.#largeBody = null;
    return taken;
  }

  /** Marks the model as in use. From now on the runner does not put it to sleep. */
  takeModel(modelId: string): void {
    this.#shared.activity.enter(modelId);
    this.#modelId = modelId;
  }

  /** Takes a slot of the key and one of the organization. */
  async admit(request: AdmitRequest): Promise<Admission | Refusal> {
    const { limiter } = this.#shared;
    const handle = limiter.admissionHandle(this.orgId, this.#requestId);
    this.#admission = handle;
    this.#admissionAsked = true;
    const admission = await limiter.admit(handle, request, this.#trace?.onward);
    if (isRefusal(admission)) this.#admission = null;
    return admission;
  }

  /** Reserves for the held admission. A refusal leaves the admission as it was. */
  async reserve(): Promise<Passed | Refusal> {
    const handle = this.#admission;
    return handle ? this.#shared.limiter.reserve(handle, this.#trace?.onward) : INTERNAL_ERROR;
  }

  /**
   * Marks the request as counted. From now on `release` settles its admission instead of
   * withdrawing it.
   */
  count(): void {
    this.#countedAtMs = performance.now();
  }

  /**
   * Forgets what the limiter ended with the instance's lease. Returns false if nothing here was
   * affected.
   */
  forget(instanceId: string): boolean {
    const admissionLost = this.#admission?.instanceId === instanceId;
    const largeBodyLost = this.#largeBody?.instanceId === instanceId;
    if (admissionLost) this.#admission = null;
    if (largeBodyLost) this.#largeBody = null;
    return admissionLost || largeBodyLost;
  }

  /**
   * Gives everything back but the memory of the answer, once. When it resolves, the slots are free
   * and the reservation is settled. It never fails the answer: if the limiter does not acknowledge
   * soon, the call is sent again in the background.
   * @param firstChunkAtMs monotonic; null if no stream has begun
   */
  async release(ending: Ending, firstChunkAtMs: number | null): Promise<void> {
    this.#releaseBytes();
    try {
      // Started together, so that both travel in one message.
      const admission = this.#endAdmission(ending, firstChunkAtMs);
      const largeBody = this.#releaseLargeBody();
      await admission;
      if (largeBody) await largeBody;
    } finally {
      this.#releaseModel();
    }
  }

  #endAdmission(ending: Ending, firstChunkAtMs: number | null): Promise<void> | null {
    const admission = this.#admission;
    this.#admission = null;
    if (!admission) return null;
    const { limiter } = this.#shared;
    const countedAtMs = this.#countedAtMs;
    if (countedAtMs === null) return limiter.withdraw(admission, this.#trace?.onward);
    const durationMs = Math.round(performance.now() - countedAtMs);
    const firstChunkMs = firstChunkAtMs === null ? 0 : Math.max(1, Math.round(firstChunkAtMs - countedAtMs));
    return limiter.settle(admission, settlementOf(ending, { durationMs, firstChunkMs }), this.#trace?.onward);
  }

  #releaseLargeBody(): Promise<void> | null {
    const largeBody = this.#largeBody;
    this.#largeBody = null;
    return largeBody && this.#shared.limiter.releaseLargeBody(largeBody);
  }

  #releaseBytes(): void {
    if (this.#bytes > 0) this.#shared.bodyBudget.release(this.orgId, this.#bytes);
    this.#bytes = 0;
  }

  #releaseModel(): void {
    if (this.#modelId !== null) this.#shared.activity.leave(this.#modelId);
    this.#modelId = null;
  }
}
