import { newInstanceId } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import { callUnary } from '@tidegate/rpc';
import type { Limiter, LimiterOptions } from '../limiter.ts';
import { startTestLimiter } from './fixture.ts';
import { SessionClient } from './session-client.ts';

/** The deadline of a call that a test awaits. */
export const PATIENT_CALL = { deadlineMs: 60_000 } as const;

/**
 * The limiters and sessions of one test, on stores that the test supplies. Its creator closes it.
 */
export class Rig {
  readonly #redisUrl: string;
  readonly #db: Db;
  readonly #limiters: Limiter[] = [];
  readonly #sessions: SessionClient[] = [];

  constructor(redisUrl: string, db: Db) {
    this.#redisUrl = redisUrl;
    this.#db = db;
  }

  async limiter(options: Partial<LimiterOptions> = {}): Promise<Limiter> {
    const limiter = await startTestLimiter({ redisUrl: this.#redisUrl, db: this.#db, ...options });
    this.#limiters.push(limiter);
    for (let i = 0; limiter.problem() !== null; i++) {
      if (i === 1_000) throw new Error('the limiter cannot find its Redis');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return limiter;
  }

  session(limiter: Limiter): SessionClient {
    const session = new SessionClient(`127.0.0.1:${limiter.port}`);
    this.#sessions.push(session);
    return session;
  }

  async close(): Promise<void> {
    for (const session of this.#sessions) session.close();
    await Promise.all(this.#limiters.map((limiter) => limiter.close()));
  }
}

/** Makes a gateway instance that has sent one heartbeat. */
export async function beatingInstance(session: SessionClient): Promise<string> {
  const instanceId = newInstanceId();
  await session.ask({ heartbeat: { instanceId } });
  return instanceId;
}

/** Keeps an instance's lease until stopped, however slow the machine is. */
export function keepBeating(session: SessionClient, instanceId: string): { stop(): void } {
  const timer = setInterval(() => void session.ask({ heartbeat: { instanceId } }).catch(() => {}), 100);
  return { stop: () => clearInterval(timer) };
}

export const monthOfOrg = (session: SessionClient, orgId: string) =>
  callUnary(session.client, 'getMonth', { orgId }, PATIENT_CALL);
