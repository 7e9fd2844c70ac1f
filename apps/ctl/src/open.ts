import type { Control } from '@tidegate/control';
import type { Config } from './config.ts';

/** Control over an installation, for the time of `use`. Nothing connects before it is needed. */
export async function withControl<T>(config: Config, use: (control: Control) => Promise<T>): Promise<T> {
  const [{ createControl, limiterOverGrpc, runnerOverGrpc }, { closeDb, createDb }] = await Promise.all([
    import('@tidegate/control'),
    import('@tidegate/db'),
  ]);
  const db = createDb(config.DATABASE_URL, { maxConnections: 4 });
  const limiter = limiterOverGrpc(config.LIMITER_ADDRESSES);
  const runner = runnerOverGrpc(config.RUNNER_ADDRESS);
  const secretKey = Buffer.from(config.SECRET_KEY, 'base64');
  try {
    return await use(createControl({ db, limiter, runner, secretKey, now: Date.now }));
  } finally {
    limiter.close();
    runner.close();
    await closeDb(db);
  }
}
