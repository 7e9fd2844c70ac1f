import { setTimeout as sleep } from 'node:timers/promises';
import type { Control } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import type { Config } from './config.ts';
import type { Waits } from './context.ts';

const RETRY_MS = 200;

/** Connects to an installation's Postgres, calls `use`, and disconnects. */
export async function withDb<T>(
  { DATABASE_URL, CTL_CONNECT_TIMEOUT_MS: timeoutMs }: Config,
  { connectMs = timeoutMs }: Waits,
  use: (db: Db) => Promise<T>,
): Promise<T> {
  const { closeDb, createDb, isRefusedForNow } = await import('@tidegate/db');
  const db = createDb(DATABASE_URL, {
    maxConnections: 1,
    connectTimeoutMs: connectMs,
    transactionTimeoutMs: timeoutMs,
  });
  try {
    await connect(db, timeoutMs, isRefusedForNow);
    return await use(db);
  } finally {
    await closeDb(db);
  }
}

/** Opens control over an installation, calls `use`, and closes it. */
export async function withControl<T>(
  config: Config,
  waits: Waits,
  use: (control: Control) => Promise<T>,
): Promise<T> {
  const { createControl, limiterOverGrpc, runnerOverGrpc } = await import('@tidegate/control');
  const limiter = limiterOverGrpc(config.LIMITER_ADDRESSES, config.caller, waits);
  const runner = runnerOverGrpc(config.RUNNER_ADDRESS, config.caller, waits);
  const { SECRET_KEY: secretKey, SECRET_KEY_PREVIOUS: previousSecretKey, OIDC_ONLY } = config;
  const passwords = !OIDC_ONLY;
  try {
    return await withDb(config, waits, (db) =>
      use(createControl({ db, limiter, runner, secretKey, previousSecretKey, passwords, now: Date.now })),
    );
  } finally {
    limiter.close();
    runner.close();
  }
}

/**
 * Connects, and waits while Postgres has no connection to spare. Nothing has been asked of it by
 * then, so trying again is safe.
 */
async function connect(
  db: Db,
  timeoutMs: number,
  isRefusedForNow: (error: unknown) => boolean,
): Promise<void> {
  const untilMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      await db.$queryRaw`SELECT 1`;
      return;
    } catch (error) {
      if (!isRefusedForNow(error) || performance.now() >= untilMs) throw error;
    }
    await sleep(RETRY_MS);
  }
}
