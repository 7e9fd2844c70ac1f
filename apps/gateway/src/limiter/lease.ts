import { newInstanceId } from '@tidegate/contracts';
import type { LimiterCall, LimiterReply } from './session.ts';

export interface LeaseOptions {
  readonly heartbeatMs: number;
  /** Whether this process holds nothing and has nothing left to send. */
  readonly atRest: () => boolean;
  /** The limiter has settled everything the instance held. Its requests must end now. */
  readonly onLost: (instanceId: string) => void;
  /** The limiter knows the lease, so its live state is intact. */
  readonly onKept: () => void;
  /** The limiter has lost its live state. What the instance holds must be restored. */
  readonly onForgotten: () => void;
}

/** The part of the session that a lease needs. */
interface HeartbeatSession {
  readonly up: boolean;
  call(call: LimiterCall): Promise<LimiterReply | null>;
  reset(reason: string): void;
}

/** How many times rarer heartbeats are at rest. Even then the lease survives two missed ones. */
const REST_FACTOR = 2.5;

/**
 * The lease of this gateway's instance. It sends a heartbeat every second over the session, fewer
 * at rest. Losing the lease ends the instance, and the process continues as a new one.
 */
export class InstanceLease {
  readonly #options: LeaseOptions;
  #instanceId = newInstanceId();
  #registered = false;
  #session: HeartbeatSession | null = null;
  #timer: NodeJS.Timeout | undefined;
  #resting = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  get instanceId(): string {
    return this.#instanceId;
  }

  readonly heartbeat = (): LimiterCall => ({
    heartbeat: { instanceId: this.#instanceId, registered: this.#registered },
  });

  /**
   * Processes the reply to a heartbeat. `again` means that the instance must still be registered,
   * either as a new instance or once more.
   */
  readonly accept = (reply: LimiterReply): 'up' | 'again' | 'failed' => {
    if (!reply.heartbeat) return 'failed';
    const { leaseLost, forgotten } = reply.heartbeat;
    if (leaseLost) this.abandon(this.#instanceId);
    else if (forgotten) {
      this.#registered = false;
      this.#options.onForgotten();
    } else {
      this.#registered = true;
      this.#options.onKept();
    }
    return leaseLost || forgotten ? 'again' : 'up';
  };

  /** Ends this instance unless it has ended already. */
  abandon(instanceId: string): void {
    if (instanceId !== this.#instanceId) return;
    this.#instanceId = newInstanceId();
    this.#registered = false;
    this.#options.onLost(instanceId);
  }

  start(session: HeartbeatSession): void {
    this.#session = session;
    this.#beatLater();
  }

  stop(): void {
    this.#session = null;
    clearTimeout(this.#timer);
  }

  /**
   * Called before the instance holds anything. If it is at rest, it sends a heartbeat now and then
   * returns to the normal interval.
   */
  use(): void {
    if (!this.#resting || !this.#session) return;
    clearTimeout(this.#timer);
    void this.beat(this.#session);
    this.#beatLater(false);
  }

  #beatLater(resting = this.#options.atRest()): void {
    const session = this.#session;
    if (!session) return;
    this.#resting = resting;
    const { heartbeatMs } = this.#options;
    this.#timer = setTimeout(
      () => {
        void this.beat(session);
        this.#beatLater();
      },
      resting ? heartbeatMs * REST_FACTOR : heartbeatMs,
    );
  }

  /** Sends one heartbeat now. If it gets no answer, the session is given up. */
  async beat(session: HeartbeatSession): Promise<void> {
    if (!session.up) return;
    const instanceId = this.#instanceId;
    const reply = await session.call(this.heartbeat());
    if (instanceId !== this.#instanceId) return;
    if (!reply) session.reset('a heartbeat was not answered');
    else if (this.accept(reply) === 'again') await this.beat(session);
  }
}
