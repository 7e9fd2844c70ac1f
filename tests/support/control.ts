import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Actor,
  type Control,
  createControl,
  limiterOverGrpc,
  type Result,
  runnerOverGrpc,
} from '@tidegate/control';
import { closeDb, createDb, type Db } from '@tidegate/db';
import type { Stack } from '@tidegate/local';

export const OPERATOR: Actor = { kind: 'operator' };

/** What is enough of a stack to use it: its description, and its folder. */
export type Reachable = Pick<Stack, 'info' | 'dataDir'>;

export interface OpenControl {
  readonly control: Control;
  readonly db: Db;
  close(): Promise<void>;
}

/** The variables of a stack's `ctl`. */
export const ctlVariables = (stack: Reachable): Record<string, string> =>
  JSON.parse(readFileSync(join(stack.dataDir, 'env.json'), 'utf8'));

/**
 * Opens control over a stack within this process. It does what `ctl` does, without a process for
 * each command.
 */
export function openControl(stack: Reachable): OpenControl {
  const env = ctlVariables(stack);
  const caller = { token: env.SERVICE_TOKEN ?? null, tls: null };
  const limiter = limiterOverGrpc((env.LIMITER_ADDRESSES ?? '').split(','), caller);
  const runner = runnerOverGrpc(env.RUNNER_ADDRESS ?? '', caller);
  const db = createDb(stack.info.postgres, { maxConnections: 4 });
  const secretKey = Buffer.from(env.SECRET_KEY ?? '', 'base64');
  return {
    control: createControl({ db, limiter, runner, secretKey, now: Date.now }),
    db,
    async close() {
      limiter.close();
      runner.close();
      await closeDb(db);
    },
  };
}

const opened = new WeakMap<Reachable, OpenControl>();

/** Returns the one control that all tests of a stack share. `closeControl` closes it. */
export function controlOf(stack: Reachable): Control {
  const open = opened.get(stack) ?? openControl(stack);
  opened.set(stack, open);
  return open.control;
}

/** Closes what `controlOf` has opened for a stack, if anything. */
export async function closeControl(stack: Reachable): Promise<void> {
  await opened.get(stack)?.close();
  opened.delete(stack);
}

/** Returns the value. @throws Error with the reason of a refusal */
export function must<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new Error(result.refusal.message);
}
