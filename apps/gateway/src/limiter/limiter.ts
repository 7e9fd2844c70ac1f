import { isRefusal, PASSED, type Passed, REHEARSAL, type Refusal } from '@tidegate/contracts';
import type {
  LimiterClient,
  Notice__Output,
  Peer,
  Peers,
  Principal__Output,
  ReportRefusals,
} from '@tidegate/rpc';
import { INTERNAL_ERROR, INVALID_API_KEY } from '../refusals.ts';
import { type Admission, readAdmission, TOO_MANY_LARGE_BODIES } from './admission.ts';
import {
  type AdmissionRef,
  type AdmitRequest,
  admitCallOf,
  type SettleRequest,
  settleCallOf,
} from './calls.ts';
import { Grants, type LostGrant } from './grants.ts';
import { InstanceLease } from './lease.ts';
import { type LimiterReply, LimiterSession, type LimiterSessionOptions } from './session.ts';
import { Unacknowledged } from './unacknowledged.ts';

export type { AdmissionRef, AdmitRequest, SettleRequest };

export interface LimiterOptions {
  /** The limiters. */
  readonly peers: Peers;
  readonly connect: (peer: Peer) => LimiterClient;
  readonly random: () => number;
  readonly nowMs: () => number;
  readonly log: LimiterSessionOptions['log'];
  readonly callTimeoutMs: number;
  readonly silenceMs: number;
  readonly reconnectMs: number;
  readonly lookMs: number;
  readonly heartbeatMs: number;
  readonly settleWaitMs: number;
  readonly maxOpenCalls: number;
  /** Requests are refused while more final calls than this await acknowledgement. */
  readonly maxUnacknowledged: number;
  readonly onCalled?: LimiterSessionOptions['onCalled'];
  readonly onDown: () => void;
  readonly onLeaseLost: (instanceId: string) => void;
  readonly onNotice: (notice: Notice__Output) => void;
}

const RETRY_MS = 500;
const MAX_SETTLED_REMEMBERED = 30_000;

/**
 * The gateway's view of the limiter. If the limiter cannot decide, the request is refused with
 * INTERNAL_ERROR. Anything it may have done nevertheless has been or will be taken back.
 */
export class Limiter {
  readonly #options: LimiterOptions;
  readonly #lease: InstanceLease;
  readonly #session: LimiterSession;
  readonly #unacknowledged: Unacknowledged;
  readonly #grants: Grants;

  constructor(options: LimiterOptions) {
    this.#options = options;
    const { nowMs } = options;
    this.#grants = new Grants({ maxSettled: MAX_SETTLED_REMEMBERED, nowMs });
    this.#lease = new InstanceLease({
      heartbeatMs: options.heartbeatMs,
      isIdle: () => this.#grants.size === 0 && this.#unacknowledged.size === 0,
      onLeaseLost: (instanceId) => {
        this.#unacknowledged.forget(instanceId);
        this.#grants.forget(instanceId);
        options.onLeaseLost(instanceId);
      },
      onAlive: () => this.#grants.confirmed(),
      onStateLost: () => this.#restore(),
    });
    this.#session = new LimiterSession({
      ...options,
      hello: this.#lease.heartbeatCall,
      accept: this.#lease.accept,
      onUp: () => this.#unacknowledged.retry(),
      onQuiet: () => void this.#lease.sendHeartbeat(this.#session),
      onNotice: (notice) => {
        if (notice.orgStateLost) this.#restore(notice.orgStateLost.orgId);
        options.onNotice(notice);
      },
    });
    this.#unacknowledged = new Unacknowledged({
      call: (call) => this.#session.call(call),
      retryMs: RETRY_MS,
      waitMs: options.settleWaitMs,
    });
  }

  start(): void {
    this.#session.start();
    this.#lease.start(this.#session);
  }

  /** Ends the session. The reaper takes over what is still unacknowledged. */
  stop(): void {
    this.#unacknowledged.stop();
    this.#lease.stop();
    this.#session.stop();
  }

  get ready(): boolean {
    return this.problem === null;
  }

  /** Why no request can be decided. Null: requests can be. */
  get problem(): string | null {
    if (!this.#session.up) return 'no session with a limiter of LIMITER_ADDRESSES';
    return this.#unacknowledged.size <= this.#options.maxUnacknowledged
      ? null
      : 'too many settlements wait for a limiter to acknowledge them';
  }

  get unacknowledged(): number {
    return this.#unacknowledged.size;
  }

  /** Identifies what a request is about to hold, under the current instance. */
  admissionRef(orgId: string, admissionId: string): AdmissionRef {
    this.#lease.use();
    return { orgId, instanceId: this.#lease.instanceId, admissionId, grant: null };
  }

  async authenticate(orgTag: string, keyHash: Buffer): Promise<Principal__Output | Refusal> {
    const reply = await this.#session.call({ authenticate: { orgTag, keyHash } });
    const outcome = reply?.authenticate;
    if (outcome?.principal) return outcome.principal;
    return outcome?.keyInvalid ? INVALID_API_KEY : INTERNAL_ERROR;
  }

  /**
   * Resolves to how long the address remains blocked, in milliseconds. 0 means that it was not
   * blocked before this report.
   */
  async reportInvalidKey(address: string): Promise<number | Refusal> {
    const reply = await this.#session.call({ reportInvalidKey: { address } });
    return reply?.reportInvalidKey?.blockedRemainingMs ?? INTERNAL_ERROR;
  }

  /** @param traceparent as for all calls of a request: of its span; undefined: it is not traced */
  async takeLargeBody(ref: AdmissionRef, traceparent?: string): Promise<Passed | Refusal> {
    if (!this.ready) return INTERNAL_ERROR;
    const reply = await this.#session.call({ takeLargeBody: ref, traceparent });
    if (this.#isOver(ref) || reply?.failed?.notRun) return INTERNAL_ERROR;
    const result = reply?.takeLargeBody?.result;
    if (result === 'RESULT_TAKEN') {
      this.#grants.tookLargeBody(ref);
      return PASSED;
    }
    if (result === 'RESULT_FULL') return TOO_MANY_LARGE_BODIES;
    if (result === 'RESULT_LEASE_LOST') void this.#lease.sendHeartbeat(this.#session);
    else void this.releaseLargeBody(ref);
    return INTERNAL_ERROR;
  }

  /** Waits like `settle`. */
  releaseLargeBody(ref: AdmissionRef): Promise<void> {
    this.#grants.releasedLargeBody(ref);
    return this.#unacknowledged.send(ref.instanceId, { releaseLargeBody: ref });
  }

  async countRequest(orgId: string, keyId: string): Promise<Admission | Refusal> {
    return this.#decided(await this.#session.call({ countRequest: { orgId, keyId } }));
  }

  async admit(ref: AdmissionRef, request: AdmitRequest, traceparent?: string): Promise<Admission | Refusal> {
    if (!this.ready) return INTERNAL_ERROR;
    const call = admitCallOf(ref, request);
    const reply = await this.#session.call({ admit: call, traceparent });
    if (this.#isOver(ref) || reply?.failed?.notRun) return INTERNAL_ERROR;
    const admission = this.#decided(reply);
    if (!isRefusal(admission)) this.#grants.admitted(ref, call, admission.admittedAtMs);
    else if (!reply?.admission?.outcome) void this.withdraw(ref);
    return admission;
  }

  /**
   * If the reservation is refused or its outcome is unknown, the caller must withdraw the
   * admission.
   */
  async reserve(ref: AdmissionRef, traceparent?: string): Promise<Passed | Refusal> {
    const admission = this.#decided(await this.#session.call({ reserve: ref, traceparent }));
    if (isRefusal(admission)) return admission;
    this.#grants.reserved(ref, admission.admittedAtMs);
    return PASSED;
  }

  /**
   * Asks to reserve for an admission that nobody has, and ignores the refusal. Gateway and limiter
   * run what they run for `reserve`. It changes nothing, and no decision is counted.
   */
  async rehearseReserve(): Promise<void> {
    const ref = this.admissionRef(REHEARSAL, REHEARSAL);
    await this.#session.call({ reserve: ref, traceparent: undefined });
  }

  /** Takes an admission back. Waits like `settle`. */
  withdraw(ref: AdmissionRef, traceparent?: string): Promise<void> {
    this.#grants.withdrawn(ref);
    return this.#unacknowledged.send(ref.instanceId, { withdraw: ref, traceparent });
  }

  /**
   * Settles, and waits briefly for the acknowledgement. A late one is retried in the background.
   */
  settle(ref: AdmissionRef, settlement: SettleRequest, traceparent?: string): Promise<void> {
    const settle = settleCallOf(ref, settlement);
    this.#grants.settled(ref, settle);
    return this.#unacknowledged.send(ref.instanceId, { settle, traceparent });
  }

  /** Resolves to false if it is not certain that the report was written. */
  async reportRefusals(report: ReportRefusals): Promise<boolean> {
    const reply = await this.#session.call({ reportRefusals: report });
    return !!reply?.reportRefusals;
  }

  /** Waits for all acknowledgements. Resolves to false if the time runs out first. */
  async flush(timeoutMs: number): Promise<boolean> {
    const endMs = this.#options.nowMs() + timeoutMs;
    while (this.#unacknowledged.size > 0 && this.#options.nowMs() < endMs) {
      this.#unacknowledged.retry();
      await new Promise((resolve) => setTimeout(resolve, this.#options.reconnectMs));
    }
    return this.#unacknowledged.size === 0;
  }

  /** Sends the limiter again what it granted, for one organization or for all. */
  #restore(orgId?: string): void {
    for (const lost of this.#grants.lost(orgId))
      void this.#unacknowledged.send(lost.instanceId, lost.restore, (reply) => this.#restored(lost, reply));
  }

  #restored(lost: LostGrant, { restore, takeLargeBody }: LimiterReply): void {
    const refused = restore?.leaseLost || takeLargeBody?.result === 'RESULT_LEASE_LOST';
    // By now its slots may belong to others.
    if (refused && lost.isHeld()) this.#lease.abandon(lost.instanceId);
    const ended = lost.ended();
    if (ended) void this.#unacknowledged.send(lost.instanceId, ended);
  }

  /**
   * Whether the instance was given up while the limiter decided. If so, its grants ended with it.
   */
  #isOver({ instanceId }: AdmissionRef): boolean {
    return instanceId !== this.#lease.instanceId;
  }

  #decided(reply: LimiterReply | null): Admission | Refusal {
    const outcome = reply?.admission ?? null;
    if (outcome?.leaseLost) void this.#lease.sendHeartbeat(this.#session);
    return readAdmission(outcome);
  }
}
