import type { LimiterError } from '../limiter-error.ts';
import type { Script } from '../scripts.ts';

export type Argument = string | number;

/** What a script is given. */
export interface ScriptInput {
  readonly keys: readonly string[];
  readonly args: readonly Argument[];
}

/** A script's reply: its code, then the values that belong to it. */
export type ScriptReply = readonly [code: string, ...rest: (string | number)[]];

/** A command that waits to be sent, and whoever waits for its reply. */
export interface WaitingCommand {
  readonly command: string;
  readonly args: readonly Argument[];
  readonly script: Script | null;
  resolve(reply: unknown): void;
  reject(error: LimiterError): void;
}

interface ScriptCaller {
  resolve(reply: ScriptReply): void;
  reject(error: LimiterError): void;
}

/**
 * One run of a script for several callers. The script is given what they share, then what each of
 * them brings, and replies with one reply for each.
 */
export class SharedRun implements WaitingCommand {
  readonly command = 'evalsha';
  readonly script: Script;
  readonly #keys: string[];
  readonly #args: Argument[];
  readonly #callers: ScriptCaller[] = [];

  constructor(script: Script, shared: ScriptInput) {
    this.script = script;
    this.#keys = [...shared.keys];
    this.#args = [...shared.args];
  }

  get args(): readonly Argument[] {
    return evalshaArgs(this.script, { keys: this.#keys, args: this.#args });
  }

  add(own: ScriptInput, caller: ScriptCaller): void {
    this.#keys.push(...own.keys);
    this.#args.push(...own.args);
    this.#callers.push(caller);
  }

  resolve(reply: unknown): void {
    const replies = reply as readonly ScriptReply[];
    for (const [i, caller] of this.#callers.entries()) caller.resolve(replies[i] as ScriptReply);
  }

  reject(error: LimiterError): void {
    for (const caller of this.#callers) caller.reject(error);
  }
}

export const evalshaArgs = (script: Script, { keys, args }: ScriptInput): Argument[] => [
  script.sha,
  keys.length,
  ...keys,
  ...args,
];
