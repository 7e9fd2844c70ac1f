import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBase62 } from '@tidegate/contracts';
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
import { callerOf, poolAddresses } from '@tidegate/runtime';
import { PATIENT_CALLS, PATIENT_DB, urlAs } from '@tidegate/testing';

const SESSION_MS = 3_600_000;

export const OPERATOR: Actor = { kind: 'operator' };

/** What it takes to use a stack: its description and its folder. */
export type Reachable = Pick<Stack, 'info' | 'dataDir'>;

export interface OpenControl {
  /** As ctl for operators, and as the console for users, each with the rights of its role. */
  readonly control: Control;
  /** The whole database, as its owner. */
  readonly db: Db;
  close(): Promise<void>;
}

/** The variables of a stack's `ctl`, which has only the rights of its role in Postgres. */
export function ctlVariables(stack: Reachable): Record<string, string> {
  const env = JSON.parse(readFileSync(join(stack.dataDir, 'env.json'), 'utf8'));
  return { ...env, DATABASE_URL: urlAs('ctl', env.DATABASE_URL) };
}

/**
 * Opens control over a stack within this process. It does what `ctl` does, without a process for
 * each command.
 */
export function openControl(stack: Reachable, now: () => number = Date.now): OpenControl {
  const env = ctlVariables(stack);
  const caller = callerOf(env);
  const patient = { deadlines: PATIENT_CALLS };
  const limiter = limiterOverGrpc((env.LIMITER_ADDRESSES ?? '').split(','), caller, patient);
  const runner = runnerOverGrpc(poolAddresses.parse(env.RUNNER_ADDRESS), caller, patient);
  const openDb = (url: string) => createDb(url, { ...PATIENT_DB, maxConnections: 4 });
  const [ofCtl, ofConsole] = (['ctl', 'console'] as const).map((service) =>
    openDb(urlAs(service, stack.info.postgres)),
  ) as [Db, Db];
  const db = openDb(stack.info.postgres);
  const secretKey = Buffer.from(env.SECRET_KEY ?? '', 'base64');
  const controlWith = (of: Db) => createControl({ db: of, limiter, runner, secretKey, now });
  return {
    control: byActor(controlWith(ofCtl), controlWith(ofConsole)),
    db,
    async close() {
      limiter.close();
      runner.close();
      await Promise.all([ofCtl, ofConsole, db].map(closeDb));
    },
  };
}

/**
 * Operations that ctl has no command for, so that its role has no right to them. Tests call them
 * as operators.
 */
const NOT_OF_CTL: ReadonlySet<string> = new Set<keyof Control>(['createInvitation']);

function byActor(ctl: Control, console: Control): Control {
  type Operation = (actor: Actor | null, input: never) => unknown;
  const operations = Object.keys(ctl).map((name) => {
    const operation: Operation = (actor, input) => {
      const of = actor?.kind === 'operator' && !NOT_OF_CTL.has(name) ? ctl : console;
      return (of[name as keyof Control] as Operation)(actor, input);
    };
    return [name, operation];
  });
  return Object.fromEntries(operations) as Control;
}

const opened = new WeakMap<Reachable, OpenControl>();

/** Returns the one control that all tests of a stack share. `closeControl` closes it. */
export function controlOf(stack: Reachable): Control {
  const open = opened.get(stack) ?? openControl(stack);
  opened.set(stack, open);
  return open.control;
}

/** Signs a user in. Returns the id of the session. */
export async function sessionOf(stack: Reachable, userId: string): Promise<string> {
  controlOf(stack);
  const id = randomBase62(20);
  const expiresAt = new Date(Date.now() + SESSION_MS);
  await opened.get(stack)?.db.session.create({ data: { id, token: id, userId, expiresAt } });
  return id;
}

/** Closes what `controlOf` has opened for a stack, if anything. */
export async function closeControl(stack: Reachable): Promise<void> {
  await opened.get(stack)?.close();
  opened.delete(stack);
}

/** Returns the value. @throws Error with the reason of a refusal, or of what is not in force yet */
export function must<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.refusal.message);
  if (result.notInForce !== undefined) throw new Error(result.notInForce);
  return result.value;
}
