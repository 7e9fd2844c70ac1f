import { setTimeout as sleep } from 'node:timers/promises';
import type { Control } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import type { Config } from './config.ts';

/** Many commands at once are a crowd for a small Postgres and a small machine: each takes one connection, and has this long. */
const PATIENCE_MS = 20_000;
const RETRY_MS = 200;

/** Control over an installation, for the time of `use`. */
export async function withControl<T>(config: Config, use: (control: Control) => Promise<T>): Promise<T> {
  const [{ createControl, limiterOverGrpc, runnerOverGrpc }, { closeDb, createDb, isRefusedForNow }] =
    await Promise.all([import('@tidegate/control'), import('@tidegate/db')]);
  const db = createDb(config.DATABASE_URL, {
    maxConnections: 1,
    connectTimeoutMs: PATIENCE_MS,
    transactionTimeoutMs: PATIENCE_MS,
  });
  const limiter = limiterOverGrpc(config.LIMITER_ADDRESSES);
  const runner = runnerOverGrpc(config.RUNNER_ADDRESS);
  const secretKey = Buffer.from(config.SECRET_KEY, 'base64');
  try {
    await connect(db, isRefusedForNow);
    return await use(createControl({ db, limiter, runner, secretKey, now: Date.now }));
  } finally {
    limiter.close();
    runner.close();
    await closeDb(db);
  }
}

/** Takes the connection, waiting while Postgres has none to give. Nothing has been asked by then, so trying again is safe. */
async function connect(db: Db, isRefusedForNow: (error: unknown) => boolean): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
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
