import type {
  AdmissionOutcome__Output,
  LimiterClient,
  Notice__Output,
  Principal__Output,
} from '@tidegate/rpc';
import { Grants, type Lost } from './grants.ts';
import type { Asked, Held, Settlement } from './held.ts';
import { InstanceLease } from './lease.ts';
import { Outbox } from './outbox.ts';
import { type LimiterReply, LimiterSession, type SessionOptions } from './session.ts';

export type { Held, Settlement };
export type AdmitRequest = Omit<Asked, keyof Held>;
export type AdmissionOutcome = AdmissionOutcome__Output;

export interface LimiterOptions {
  readonly addresses: readonly string[];
  readonly connect: (address: string) => LimiterClient;
  readonly random: () => number;
  readonly nowMs: () => number;
  readonly log: SessionOptions['log'];
  readonly callTimeoutMs: number;
  readonly silenceMs: number;
  readonly reconnectMs: number;
  readonly heartbeatMs: number;
  readonly settleWaitMs: number;
  readonly maxOpenCalls: number;
  /** Requests are refused while more final calls than this wait for their acknowledgement. */
  readonly maxUnacknowledged: number;
  readonly onDown: () => void;
  readonly onLeaseLost: (instanceId: string) => void;
  readonly onNotice: (notice: Notice__Output) => void;
}

const OUTBOX_RETRY_MS = 500;
const MAX_SETTLED_REMEMBERED = 30_000;

/**
 * The limiter as the gateway uses it. Null always means that the limiter could not decide, and that what it may have done
 * all the same has been or will be taken back; the caller fails closed.
 */
export class Limiter {
  readonly #options: LimiterOptions;
  readonly #lease: InstanceLease;
  readonly #session: LimiterSession;
  readonly #outbox: Outbox;
  readonly #grants: Grants;

  constructor(options: LimiterOptions) {
    this.#options = options;
    const { addresses, random, nowMs } = options;
    this.#grants = new Grants({ maxSettled: MAX_SETTLED_REMEMBERED, nowMs });
    this.#lease = new InstanceLease({
      heartbeatMs: options.heartbeatMs,
      onLost: (instanceId) => {
        this.#outbox.forget(instanceId);
        this.#grants.forget(instanceId);
        options.onLeaseLost(instanceId);
      },
      onKept: () => this.#grants.confirmed(),
      onForgotten: () => this.#restore(),
    });
    this.#session = new LimiterSession({
      ...options,
      firstAddress: Math.floor(random() * addresses.length),
      hello: this.#lease.heartbeat,
      accept: this.#lease.accept,
      onUp: () => this.#outbox.retry(),
      onQuiet: () => void this.#lease.beat(this.#session),
      onNotice: (notice) => {
        if (notice.orgForgotten) this.#restore(notice.orgForgotten.orgId);
        options.onNotice(notice);
      },
    });
    this.#outbox = new Outbox({
      call: (call) => this.#session.call(call),
      retryMs: OUTBOX_RETRY_MS,
      waitMs: options.settleWaitMs,
    });
  }

  start(): void {
    this.#session.start();
    this.#lease.start(this.#session);
    this.#outbox.start();
  }

  /** Ends the session; what is still unacknowledged is the reaper's. */
  stop(): void {
    this.#outbox.stop();
    this.#lease.stop();
    this.#session.stop();
  }

  get ready(): boolean {
    return this.#session.up && this.#outbox.size <= this.#options.maxUnacknowledged;
  }

  get unacknowledged(): number {
    return this.#outbox.size;
  }

  /** The name under which a request may hold something from now on. */
  hold(orgId: string, admissionId: string): Held {
    return { orgId, instanceId: this.#lease.instanceId, admissionId };
  }

  async authenticate(orgTag: string, keyHash: Buffer): Promise<Principal__Output | 'invalid' | null> {
    const reply = await this.#session.call({ authenticate: { orgTag, keyHash } });
    const outcome = reply?.authenticate;
    if (outcome?.principal) return outcome.principal;
    return outcome?.keyInvalid ? 'invalid' : null;
  }

  /** Milliseconds for which the address had been blocked already; 0: it had not. */
  async reportInvalidKey(address: string): Promise<number | null> {
    const reply = await this.#session.call({ reportInvalidKey: { address } });
    return reply?.reportInvalidKey?.blockedRemainingMs ?? null;
  }

  async takeLargeBody(held: Held): Promise<'taken' | 'full' | null> {
    if (!this.ready) return null;
    const reply = await this.#session.call({ takeLargeBody: held });
    if (this.#isOver(held) || reply?.failed?.notRun) return null;
    const result = reply?.takeLargeBody?.result;
    if (result === 'RESULT_TAKEN') {
      this.#grants.tookLargeBody(held);
      return 'taken';
    }
    if (result === 'RESULT_FULL') return 'full';
    if (result === 'RESULT_LEASE_LOST') void this.#lease.beat(this.#session);
    else void this.releaseLargeBody(held);
    return null;
  }

  /** Waits as `settle` does. */
  releaseLargeBody(held: Held): Promise<void> {
    this.#grants.releasedLargeBody(held);
    return this.#outbox.send(held.instanceId, { releaseLargeBody: held });
  }

  async countRequest(orgId: string, keyId: string): Promise<AdmissionOutcome | null> {
    return this.#decided((await this.#session.call({ countRequest: { orgId, keyId } }))?.admission);
  }

  async admit(held: Held, request: AdmitRequest): Promise<AdmissionOutcome | null> {
    if (!this.ready) return null;
    const call = { ...held, ...request };
    const reply = await this.#session.call({ admit: call });
    if (this.#isOver(held) || reply?.failed?.notRun) return null;
    const outcome = this.#decided(reply?.admission);
    if (outcome?.admitted) this.#grants.admitted(call, outcome.admitted.admittedAtMs);
    if (!outcome) void this.withdraw(held);
    return outcome;
  }

  /** A reservation that is refused or unknown leaves the admission to be withdrawn by the caller. */
  async reserve(held: Held): Promise<AdmissionOutcome | null> {
    const outcome = this.#decided((await this.#session.call({ reserve: held }))?.admission);
    if (outcome?.admitted) this.#grants.reserved(held, outcome.admitted.admittedAtMs);
    return outcome;
  }

  /** Takes an admission back; waits as `settle` does. */
  withdraw(held: Held): Promise<void> {
    this.#grants.withdrawn(held);
    return this.#outbox.send(held.instanceId, { withdraw: held });
  }

  /** Settles and waits for the acknowledgement, but not long: what is late is retried in the background. */
  settle(held: Held, settlement: Settlement): Promise<void> {
    const settle = { ...held, ...settlement };
    this.#grants.settled(held, settle);
    return this.#outbox.send(held.instanceId, { settle });
  }

  /** Waits for all acknowledgements; false when the time was over first. */
  async flush(timeoutMs: number): Promise<boolean> {
    const endMs = this.#options.nowMs() + timeoutMs;
    while (this.#outbox.size > 0 && this.#options.nowMs() < endMs) {
      this.#outbox.retry();
      await new Promise((resolve) => setTimeout(resolve, this.#options.reconnectMs));
    }
    return this.#outbox.size === 0;
  }

  /** Tells the limiter again what it granted: to one organization, or to all. */
  #restore(orgId?: string): void {
    for (const lost of this.#grants.lost(orgId))
      void this.#outbox.send(lost.instanceId, lost.restore, (reply) => this.#restored(lost, reply));
  }

  #restored(lost: Lost, { restore, takeLargeBody }: LimiterReply): void {
    const refused = restore?.leaseLost || takeLargeBody?.result === 'RESULT_LEASE_LOST';
    // What it was granted is another's by now.
    if (refused && lost.isHeld()) this.#lease.abandon(lost.instanceId);
    const ended = lost.ended();
    if (ended) void this.#outbox.send(lost.instanceId, ended);
  }

  /** The instance was given up while the limiter decided: what it was granted has been ended with it. */
  #isOver({ instanceId }: Held): boolean {
    return instanceId !== this.#lease.instanceId;
  }

  #decided(outcome: AdmissionOutcome | null | undefined): AdmissionOutcome | null {
    if (!outcome?.outcome) return null;
    if (outcome.leaseLost) void this.#lease.beat(this.#session);
    return outcome;
  }
}
