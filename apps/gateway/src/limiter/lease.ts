import { newInstanceId } from '@tidegate/contracts';
import type { LimiterCall, LimiterReply, LimiterSession } from './session.ts';

export interface LeaseOptions {
  readonly heartbeatMs: number;
  /** The instance ends by itself when no heartbeat of the last `cutOffMs` was answered. */
  readonly cutOffMs: number;
  /** Monotonic clock. */
  readonly nowMs: () => number;
  /** Whether this process holds nothing and has nothing left to send. */
  readonly isIdle: () => boolean;
  /** The limiter has settled everything the instance held. Its requests must end now. */
  readonly onLeaseLost: (instanceId: string) => void;
  /**
   * The instance's requests must end now, before a limiter gives their slots away. What has not
   * been sent may still be sent, because the lease may not be lost yet.
   */
  readonly onGivenUp: (instanceId: string, why: string) => void;
  /** The limiter knows the lease, so its live state is intact. */
  readonly onAlive: () => void;
  /** The limiter has lost its live state. What the instance holds must be restored. */
  readonly onStateLost: () => void;
}

/** The part of the session that a lease needs. */
type HeartbeatSession = Pick<LimiterSession, 'up' | 'call' | 'link' | 'reset' | 'setFailing'>;

/**
 * How much longer an idle instance waits between heartbeats. Even then the lease survives two
 * missed ones.
 */
const IDLE_FACTOR = 2.5;

/**
 * The lease of this gateway's instance. It sends a heartbeat every second over the session, and
 * less often while it is idle. Losing the lease ends the instance, and the process continues as a
 * new one.
 *
 * A limiter that cannot be reached cannot say that the lease is lost. So the instance also ends
 * when heartbeats have gone unanswered for almost as long as a lease. It ends only once: the next
 * instance has no lease until a limiter answers it. A heartbeat that failed counts as answered: its
 * limiter cannot reach Redis, and if none can, nobody gives slots away.
 */
export class InstanceLease {
  readonly #options: LeaseOptions;
  #instanceId = newInstanceId();
  #registered = false;
  /** When the last answered heartbeat was sent. Null: this instance has had no answer yet. */
  #heardMs: number | null = null;
  #session: HeartbeatSession | null = null;
  #timer: NodeJS.Timeout | undefined;
  #idle = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  get instanceId(): string {
    return this.#instanceId;
  }

  readonly heartbeatCall = (): LimiterCall => ({
    heartbeat: { instanceId: this.#instanceId, registered: this.#registered },
  });

  /**
   * Processes the reply to a heartbeat. `again`: the instance is not registered, because it is a
   * new one or live state was lost, and must send another heartbeat.
   */
  readonly accept = (
    reply: LimiterReply,
    { heartbeat }: LimiterCall,
    sentMs: number,
  ): 'up' | 'again' | 'failed' => {
    // The instance has ended since.
    if (heartbeat?.instanceId !== this.#instanceId) return 'again';
    this.#heardMs = Math.max(this.#heardMs ?? sentMs, sentMs);
    if (!reply.heartbeat) return 'failed';
    const { leaseLost, leaseUnknown } = reply.heartbeat;
    if (leaseLost) {
      const { instanceId } = this;
      this.#begin();
      this.#options.onLeaseLost(instanceId);
    } else if (leaseUnknown) {
      this.#registered = false;
      this.#options.onStateLost();
    } else {
      this.#registered = true;
      this.#options.onAlive();
    }
    return leaseLost || leaseUnknown ? 'again' : 'up';
  };

  /** Ends this instance unless it has ended already. */
  giveUp(instanceId: string, why: string): void {
    if (instanceId !== this.#instanceId) return;
    this.#begin();
    this.#options.onGivenUp(instanceId, why);
  }

  #begin(): void {
    this.#instanceId = newInstanceId();
    this.#registered = false;
    this.#heardMs = null;
  }

  /** How long this instance may go on if no limiter answers. */
  #leftMs(): number {
    const { cutOffMs, nowMs } = this.#options;
    return this.#heardMs === null ? Number.POSITIVE_INFINITY : this.#heardMs + cutOffMs - nowMs();
  }

  #endIfCutOff(): void {
    if (this.#leftMs() > 0) return;
    this.giveUp(this.#instanceId, 'no limiter has answered for almost as long as a lease lasts');
  }

  start(session: HeartbeatSession): void {
    this.#session = session;
    this.#scheduleHeartbeat();
  }

  stop(): void {
    this.#session = null;
    clearTimeout(this.#timer);
  }

  /**
   * Called before the instance holds anything. If the instance is idle, it sends a heartbeat now
   * and then returns to the normal interval.
   */
  use(): void {
    if (!this.#idle || !this.#session) return;
    clearTimeout(this.#timer);
    this.#endIfCutOff();
    void this.sendHeartbeat(this.#session);
    this.#scheduleHeartbeat(false);
  }

  #scheduleHeartbeat(idle = this.#options.isIdle()): void {
    const session = this.#session;
    if (!session) return;
    this.#idle = idle;
    const { heartbeatMs } = this.#options;
    const everyMs = idle ? heartbeatMs * IDLE_FACTOR : heartbeatMs;
    this.#timer = setTimeout(
      () => {
        // If the process stood still, the first heartbeat afterwards belongs to the next instance.
        this.#endIfCutOff();
        void this.sendHeartbeat(session);
        this.#scheduleHeartbeat();
      },
      Math.min(everyMs, this.#leftMs()),
    );
  }

  /**
   * Sends one heartbeat now. If it gets no answer, the session is given up. If it fails, the
   * session looks for another limiter.
   */
  async sendHeartbeat(session: HeartbeatSession): Promise<void> {
    if (!session.up) return;
    const instanceId = this.#instanceId;
    const { link } = session;
    const call = this.heartbeatCall();
    const sentMs = this.#options.nowMs();
    const reply = await session.call(call);
    if (instanceId !== this.#instanceId) return;
    if (!reply) {
      session.reset('a heartbeat was not answered', link);
      return;
    }
    const verdict = this.accept(reply, call, sentMs);
    session.setFailing(verdict === 'failed', link);
    if (verdict === 'again') await this.sendHeartbeat(session);
  }
}
