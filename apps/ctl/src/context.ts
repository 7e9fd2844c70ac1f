import type { Actor, Control, Deadlines, Result } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import type { Variables } from '@tidegate/runtime/settings';
import { type Config, systemUser } from './config.ts';

/** Whoever runs the command. The audit trail names the system user. */
export const OPERATOR: Actor & { readonly kind: 'operator' } = { kind: 'operator', systemUser: systemUser() };

export interface Io {
  out(text: string): void;
  err(text: string): void;
  /**
   * Reads a secret from standard input. If that is a terminal, asks for it without showing it.
   * @throws CommandError if there is none
   */
  readSecret(prompt: string): Promise<string>;
}

/** How long a command waits for others. Tests wait longer than the defaults. */
export interface Waits {
  /** For calls to limiters and runners. */
  readonly deadlines?: Deadlines;
  /** For one attempt to connect to Postgres. Default: CTL_CONNECT_TIMEOUT_MS. */
  readonly connectMs?: number;
  /** For each model server, in all. */
  readonly discoverMs?: number;
}

/** What commands need. It is created when a command runs, so that help and errors are fast. */
export interface Context {
  readonly io: Io;
  readonly waits: Waits;
  readonly config: () => Config;
  /** The environment, for what a command reads besides the configuration. */
  readonly env: () => Variables;
  /** Connects to the configured installation's Postgres. Disconnects after `use`. */
  readonly withDb: <T>(use: (db: Db) => Promise<T>) => Promise<T>;
  /** Opens control over the configured installation. Closes it after `use`. */
  readonly withControl: <T>(use: (control: Control) => Promise<T>) => Promise<T>;
}

/** Ends the command, with the message on stderr. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** @throws CommandError if none is set */
export function requiredRedisUrl({ REDIS_URL }: Pick<Config, 'REDIS_URL'>): string {
  if (REDIS_URL === undefined) throw new CommandError('This command needs Redis: set REDIS_URL, too.');
  return REDIS_URL;
}

export interface Presentation<T> {
  readonly json: boolean;
  readonly human: (value: T) => string;
  /**
   * The part of the answer that cannot be shown again. It is shown even if the change is not in
   * force.
   */
  readonly once?: (value: T) => string | undefined;
  /** A warning for stderr, besides the answer. */
  readonly warning?: (value: T) => string | undefined;
  /** What is wrong although there is an answer: it goes to stderr, with exit status 1. */
  readonly failure?: (value: T) => string | undefined;
}

/**
 * Runs one operation and shows its result, as one JSON document or as text. A refusal goes to
 * stderr, one line for each fault, with exit status 1. So does the reason why a saved change is not
 * in force. The JSON then also has `inForce: false`. The text has only what is shown once: the rest
 * would say that everything is done.
 */
export async function show<T>(
  context: Context,
  answer: Presentation<T>,
  operation: (control: Control) => Promise<Result<T>>,
): Promise<void> {
  const result = await context.withControl(operation);
  if (!result.ok) {
    const { others = [], ...first } = result.refusal;
    throw new CommandError([first, ...others].map(({ message }) => message).join('\n'));
  }
  if (result.notInForce !== undefined) {
    const once = answer.json
      ? JSON.stringify({ ...result.value, inForce: false }, null, 2)
      : answer.once?.(result.value);
    if (once !== undefined) context.io.out(`${once}\n`);
    throw new CommandError(result.notInForce);
  }
  print(context.io, answer, result.value);
}

export function print<T>(io: Io, { json, human, warning, failure }: Presentation<T>, value: T): void {
  io.out(`${json ? JSON.stringify(value, null, 2) : human(value)}\n`);
  const said = warning?.(value);
  if (said !== undefined) io.err(`${said}\n`);
  const failed = failure?.(value);
  if (failed !== undefined) throw new CommandError(failed);
}
