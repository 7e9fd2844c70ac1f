import { newInstanceId } from '@tidegate/contracts';
import type { LimiterCall, LimiterReply } from './session.ts';

export interface LeaseOptions {
  readonly heartbeatMs: number;
  /** What the instance held has been settled by the limiter: its requests must end now. */
  readonly onLost: (instanceId: string) => void;
  /** The limiter knows the lease, and so has its live state. */
  readonly onKept: () => void;
  /** The limiter's live state was lost: what the instance holds is to be restored. */
  readonly onForgotten: () => void;
}

/** As much of the session as a lease needs. */
interface HeartbeatSession {
  readonly up: boolean;
  call(call: LimiterCall): Promise<LimiterReply | null>;
  reset(reason: string): void;
}

/**
 * The lease of this gateway's instance: a heartbeat a second over the session. A lost lease ends the instance, and the
 * process goes on as a new one.
 */
export class InstanceLease {
  readonly #options: LeaseOptions;
  #instanceId = newInstanceId();
  #registered = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  get instanceId(): string {
    return this.#instanceId;
  }

  readonly heartbeat = (): LimiterCall => ({
    heartbeat: { instanceId: this.#instanceId, registered: this.#registered },
  });

  /** Takes the reply to a heartbeat. `again`: the instance has yet to be registered, as a new one or anew. */
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

  /** Ends this instance, if it has not been ended yet. */
  abandon(instanceId: string): void {
    if (instanceId !== this.#instanceId) return;
    this.#instanceId = newInstanceId();
    this.#registered = false;
    this.#options.onLost(instanceId);
  }

  start(session: HeartbeatSession): void {
    this.#timer = setInterval(() => void this.beat(session), this.#options.heartbeatMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** One heartbeat now. A session over which it is not answered is given up. */
  async beat(session: HeartbeatSession): Promise<void> {
    if (!session.up) return;
    const instanceId = this.#instanceId;
    const reply = await session.call(this.heartbeat());
    if (instanceId !== this.#instanceId) return;
    if (!reply) session.reset('a heartbeat was not answered');
    else if (this.accept(reply) === 'again') await this.beat(session);
  }
}
