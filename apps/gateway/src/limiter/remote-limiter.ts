import { isRefusal, PASSED, type Passed, REHEARSAL, type Refusal } from '@tidegate/contracts';
import type { Principal__Output, ReportRefusals } from '@tidegate/rpc';
import { INTERNAL_ERROR, INVALID_API_KEY } from '../refusals.ts';
import { type Admission, readAdmission, recovering, TOO_MANY_LARGE_BODIES } from './admission.ts';
import {
  type AdmissionHandle,
  type AdmitRequest,
  admitCallOf,
  type SettleRequest,
  settleCallOf,
} from './calls.ts';
import { Grants, type LostGrant } from './grants.ts';
import { InstanceLease, type LeaseOptions } from './lease.ts';
import { Restores } from './restores.ts';
import { type LimiterReply, LimiterSession, type LimiterSessionOptions } from './session.ts';
import { Unacknowledged } from './unacknowledged.ts';

export type { AdmissionHandle, AdmitRequest, SettleRequest };

type SessionOptions = Omit<LimiterSessionOptions, 'hello' | 'accept' | 'onUp' | 'onQuiet'>;
type InstanceOptions = Pick<LeaseOptions, 'heartbeatMs' | 'cutOffMs'>;

export interface RemoteLimiterOptions extends SessionOptions, InstanceOptions {
  readonly settleWaitMs: number;
  /** Requests are refused while more calls than this are in `Unacknowledged`. */
  readonly maxUnacknowledged: number;
  /** The instance has ended, and so must its requests. */
  readonly onLeaseLost: (instanceId: string) => void;
}

/** How long to wait for acknowledgements, in milliseconds. */
export interface FlushLimits {
  readonly timeoutMs: number;
  /**
   * While no session is up. A limiter that lacks Redis keeps its session, and may get Redis back.
   */
  readonly noSessionMs: number;
}

const RETRY_MS = 500;
/** As long as a real id, so that messages are as long as real ones. */
const REHEARSED_ADMISSION = REHEARSAL.padEnd(24, '-');
const MAX_SETTLED_REMEMBERED = 30_000;

/**
 * The gateway's view of the limiter. If the limiter cannot decide, the request is refused with
 * INTERNAL_ERROR. If the limiter had decided after all, the effect is undone.
 */
export class RemoteLimiter {
  readonly #options: RemoteLimiterOptions;
  readonly #lease: InstanceLease;
  readonly #session: LimiterSession;
  readonly #unacknowledged: Unacknowledged;
  readonly #grants: Grants;
  readonly #restores: Restores;

  constructor(options: RemoteLimiterOptions) {
    this.#options = options;
    const { nowMs } = options;
    this.#grants = new Grants({ maxSettled: MAX_SETTLED_REMEMBERED, nowMs });
    this.#lease = new InstanceLease({
      heartbeatMs: options.heartbeatMs,
      cutOffMs: options.cutOffMs,
      nowMs,
      isIdle: () => this.#grants.size === 0 && this.#unacknowledged.size === 0 && !this.#restores.busy,
      onLeaseLost: (instanceId) => {
        this.#unacknowledged.forget(instanceId);
        this.#grants.forget(instanceId);
        options.onLeaseLost(instanceId);
      },
      onGivenUp: (instanceId, why) => {
        options.log.warn({ instanceId }, `${why}: the instance ends`);
        this.#grants.dropHeld(instanceId);
        options.onLeaseLost(instanceId);
      },
      onAlive: () => this.#grants.stateIntact(),
      onStateLost: () => this.#restores.restore(),
    });
    this.#session = new LimiterSession({
      ...options,
      hello: this.#lease.heartbeatCall,
      accept: this.#lease.accept,
      onUp: () => {
        this.#unacknowledged.retry();
        this.#restores.retry();
      },
      onQuiet: () => void this.#lease.sendHeartbeat(this.#session),
      onNotice: (notice) => {
        if (notice.orgStateLost) this.#restores.restore(notice.orgStateLost.orgId);
        options.onNotice(notice);
      },
    });
    this.#unacknowledged = new Unacknowledged({
      call: (call) => this.#session.call(call),
      retryMs: RETRY_MS,
      waitMs: options.settleWaitMs,
    });
    this.#restores = new Restores({
      call: (call) => this.#session.call(call),
      lost: (orgId) => this.#grants.toRestore(orgId),
      retryMs: RETRY_MS,
      onRestored: (lost, reply) => this.#restored(lost, reply),
    });
  }

  start(): void {
    this.#session.start();
    this.#lease.start(this.#session);
  }

  /** Ends the session. The reaper takes over what is still unacknowledged. */
  stop(): void {
    this.#unacknowledged.stop();
    this.#restores.stop();
    this.#lease.stop();
    this.#session.stop();
  }

  get ready(): boolean {
    return this.problem === null;
  }

  /** Why no request can be decided. Null: they can be. */
  get problem(): string | null {
    if (!this.#session.up) return 'no session with a limiter in LIMITER_ADDRESSES';
    return this.#unacknowledged.size <= this.#options.maxUnacknowledged
      ? null
      : 'too many calls wait for a limiter to acknowledge them';
  }

  get unacknowledged(): number {
    return this.#unacknowledged.size;
  }

  /** Whether state that the limiter has lost is being restored. Requests do not wait for that. */
  get restoring(): boolean {
    return this.#restores.busy;
  }

  /** Identifies what a request is about to hold, under the current instance. */
  admissionHandle(orgId: string, admissionId: string): AdmissionHandle {
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

  /** @param traceparent of the request's span. Undefined: the request is not traced. */
  async takeLargeBody(handle: AdmissionHandle, traceparent?: string): Promise<Passed | Refusal> {
    if (!this.ready) return INTERNAL_ERROR;
    const reply = await this.#session.call({ takeLargeBody: handle, traceparent });
    if (reply?.failed?.notRun) return INTERNAL_ERROR;
    if (this.#isOver(handle)) {
      void this.releaseLargeBody(handle);
      return INTERNAL_ERROR;
    }
    const { result, retryAfterMs = 0 } = reply?.takeLargeBody ?? {};
    if (result === 'RESULT_TAKEN') {
      this.#grants.tookLargeBody(handle);
      return PASSED;
    }
    if (result === 'RESULT_FULL') return TOO_MANY_LARGE_BODIES;
    if (result === 'RESULT_RECOVERING') return recovering(retryAfterMs);
    if (result === 'RESULT_LEASE_LOST') void this.#lease.sendHeartbeat(this.#session);
    else void this.releaseLargeBody(handle);
    return INTERNAL_ERROR;
  }

  /** Waits like `settle`. */
  releaseLargeBody(handle: AdmissionHandle): Promise<void> {
    this.#grants.releasedLargeBody(handle);
    return this.#unacknowledged.send(handle.instanceId, { releaseLargeBody: handle });
  }

  async countRequest(orgId: string, keyId: string): Promise<Admission | Refusal> {
    return this.#decided(await this.#session.call({ countRequest: { orgId, keyId } }));
  }

  async admit(
    handle: AdmissionHandle,
    request: AdmitRequest,
    traceparent?: string,
  ): Promise<Admission | Refusal> {
    if (!this.ready) return INTERNAL_ERROR;
    const call = admitCallOf(handle, request);
    const reply = await this.#session.call({ admit: call, traceparent });
    if (reply?.failed?.notRun) return INTERNAL_ERROR;
    if (this.#isOver(handle)) {
      void this.withdraw(handle);
      return INTERNAL_ERROR;
    }
    const admission = this.#decided(reply);
    if (!isRefusal(admission)) this.#grants.admitted(handle, call, admission.decidedAtMs);
    else if (!reply?.admission?.outcome) void this.withdraw(handle);
    return admission;
  }

  /**
   * If the reservation is refused or its outcome is unknown, the caller must withdraw the
   * admission.
   */
  async reserve(handle: AdmissionHandle, traceparent?: string): Promise<Passed | Refusal> {
    const admission = this.#decided(await this.#session.call({ reserve: handle, traceparent }));
    if (isRefusal(admission)) return admission;
    this.#grants.reserved(handle, admission.decidedAtMs);
    return PASSED;
  }

  /**
   * Makes a reserve call for an admission that does not exist, so that gateway and limiter run the
   * same code as for a real one. It changes nothing, and no decision is counted.
   */
  async rehearseReserve(): Promise<void> {
    const handle = this.admissionHandle(REHEARSAL, REHEARSED_ADMISSION);
    const reply = await this.#session.call({ reserve: handle, traceparent: undefined });
    readAdmission(reply?.admission ?? null);
  }

  /** Takes an admission back. Waits like `settle`. */
  withdraw(handle: AdmissionHandle, traceparent?: string): Promise<void> {
    this.#grants.withdrawn(handle);
    return this.#unacknowledged.send(handle.instanceId, { withdraw: handle, traceparent });
  }

  /**
   * Settles, and waits briefly for the acknowledgement. If it is late, the settlement is sent again
   * in the background.
   */
  settle(handle: AdmissionHandle, settlement: SettleRequest, traceparent?: string): Promise<void> {
    const settle = settleCallOf(handle, settlement);
    this.#grants.settled(handle, settle);
    return this.#unacknowledged.send(handle.instanceId, { settle, traceparent }, () =>
      this.#grants.acknowledged(handle),
    );
  }

  /** Resolves to false if it is not certain that the report was written. */
  async reportRefusals(report: ReportRefusals): Promise<boolean> {
    const reply = await this.#session.call({ reportRefusals: report });
    return !!reply?.reportRefusals;
  }

  /**
   * Waits for all acknowledgements. Resolves to false once `timeoutMs` have passed, or no session
   * has been up for `noSessionMs`.
   */
  async flush({ timeoutMs, noSessionMs }: FlushLimits): Promise<boolean> {
    const { nowMs, reconnectMs } = this.#options;
    const isDone = () => this.#unacknowledged.size === 0 && !this.#restores.busy;
    const endMs = nowMs() + timeoutMs;
    let aloneSinceMs = nowMs();
    while (!isDone()) {
      if (this.#session.up) aloneSinceMs = nowMs();
      if (nowMs() >= Math.min(endMs, aloneSinceMs + noSessionMs)) return false;
      this.#unacknowledged.retry();
      this.#restores.retry();
      await new Promise((resolve) => setTimeout(resolve, reconnectMs));
    }
    return true;
  }

  #restored(lost: LostGrant, { restore, takeLargeBody }: LimiterReply): void {
    const refused = restore?.leaseLost || takeLargeBody?.result === 'RESULT_LEASE_LOST';
    if (refused && lost.isHeld())
      this.#lease.giveUp(lost.instanceId, 'a slot could not be restored, and may belong to others by now');
    const ended = lost.ended();
    if (ended) void this.#unacknowledged.send(lost.instanceId, ended);
  }

  /**
   * Whether the instance was given up while the limiter decided. If no limiter has ended it yet,
   * what it was granted must be undone.
   */
  #isOver({ instanceId }: AdmissionHandle): boolean {
    return instanceId !== this.#lease.instanceId;
  }

  #decided(reply: LimiterReply | null): Admission | Refusal {
    const outcome = reply?.admission ?? null;
    if (outcome?.leaseLost) void this.#lease.sendHeartbeat(this.#session);
    return readAdmission(outcome);
  }
}
