import type { Redis } from 'ioredis';
import { LimiterError } from '../limiter-error.ts';
import { SCRIPTS, type Script } from '../scripts.ts';
import { EncodedCommand, Outgoing } from './encoded.ts';
import { hasMoved, type Shards } from './shards.ts';

/** A script's reply: its code, then the values that belong to it. */
export type ScriptReply = readonly [code: string, ...rest: (string | number)[]];

/**
 * Commands per pipeline. Enough to share its cost, few enough that Redis can begin while the next
 * ones are being built.
 */
const MAX_PIPELINE = 32;

type Argument = string | number;

interface WaitingCommand {
  readonly command: string;
  readonly args: readonly Argument[];
  readonly script: Script | null;
  resolve(reply: unknown): void;
  reject(error: LimiterError): void;
}

export interface StoreOptions {
  readonly shards: Shards;
  /** Reports the seconds from sending a pipeline to its last reply. */
  readonly onPipeline?: (seconds: number, commands: number) => void;
}

/**
 * Runs scripts and commands. Everything asked of one server in one turn travels as one pipeline.
 * Rejects with LimiterError; in that case the command may or may not have run. A command is sent
 * again only if Redis says that it did not run: a script that Redis lost in a restart or, in a
 * cluster, a command whose keys belong to another node.
 */
export class Store {
  readonly #shards: Shards;
  readonly #onPipeline: (seconds: number, commands: number) => void;
  #waiting = new Map<Redis, WaitingCommand[]>();
  readonly #loading = new WeakMap<Redis, Set<Script>>();

  constructor({ shards, onPipeline }: StoreOptions) {
    this.#shards = shards;
    this.#onPipeline = onPipeline ?? (() => {});
  }

  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<ScriptReply> {
    const all = [script.sha, script.keys, ...keys, ...args];
    return this.#ask(this.#shards.of(keys[0] ?? null), 'evalsha', all, script) as Promise<ScriptReply>;
  }

  command(command: string, key: string, ...args: Argument[]): Promise<unknown> {
    return this.#ask(this.#shards.of(key), command, [key, ...args], null);
  }

  /**
   * Runs a command that names no key on the server of the given key, or on any server if that is
   * null.
   */
  commandAt(key: string | null, command: string, ...args: Argument[]): Promise<unknown> {
    return this.#ask(this.#shards.of(key), command, args, null);
  }

  /** Loads every script, so that none is missing on the hot path. */
  async loadScripts(): Promise<void> {
    const sources = Object.values(SCRIPTS).map(({ source }) => source);
    const load = (shard: Redis) =>
      sources.map((source) => this.#ask(shard, 'script', ['LOAD', source], null));
    await Promise.all(this.#shards.all().flatMap(load));
  }

  #ask(
    shard: Redis | null,
    command: string,
    args: readonly Argument[],
    script: Script | null,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const waiting = { command, args, script, resolve, reject };
      if (shard === null) {
        reject(limiterError(waiting, new Error('its server is unavailable'), true));
        return;
      }
      const others = this.#waiting.get(shard);
      if (others === undefined) {
        if (this.#waiting.size === 0) queueMicrotask(() => this.#flush());
        this.#waiting.set(shard, [waiting]);
      } else if (others.push(waiting) >= MAX_PIPELINE) {
        this.#waiting.set(shard, []);
        this.#send(shard, others);
      }
    });
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    for (const [shard, batch] of waiting) if (batch.length > 0) this.#send(shard, batch);
  }

  /** Sends the commands of a batch in one write. Pipelines of ioredis cost twice as much. */
  #send(shard: Redis, batch: readonly WaitingCommand[], again = false): void {
    const startedMs = performance.now();
    const outgoing = new Outgoing(shard);
    let last: Promise<unknown> = Promise.resolve();
    try {
      for (const waiting of batch) {
        const command = new EncodedCommand(waiting.command, waiting.args);
        last = command.promise.then(waiting.resolve, (error: Error) =>
          this.#failed(shard, waiting, error, again),
        );
        shard.sendCommand(command, outgoing);
      }
    } finally {
      // Replies come in the order of commands, so what ioredis awaits must be sent.
      outgoing.flush();
    }
    void last.then(() => this.#onPipeline((performance.now() - startedMs) / 1_000, batch.length));
  }

  #failed(shard: Redis, waiting: WaitingCommand, error: Error, again: boolean): void {
    const { script } = waiting;
    if (script && !again && error.message.startsWith('NOSCRIPT')) {
      this.#send(shard, [...this.#loadOnce(shard, script), waiting], true);
    } else if (hasMoved(error)) void this.#follow(waiting);
    else waiting.reject(limiterError(waiting, error));
  }

  /**
   * The command that loads a script. Empty if the script is being loaded already, because commands
   * run in order.
   */
  #loadOnce(shard: Redis, script: Script): WaitingCommand[] {
    const loading = this.#loading.get(shard) ?? new Set();
    this.#loading.set(shard, loading);
    if (loading.has(script)) return [];
    loading.add(script);
    const over = () => void loading.delete(script);
    return [{ command: 'script', args: ['LOAD', script.source], script: null, resolve: over, reject: over }];
  }

  /** Sends a script with its source, because the other node may not have loaded it. */
  async #follow(waiting: WaitingCommand): Promise<void> {
    const { command, args, script } = waiting;
    try {
      const sent = script ? this.#shards.follow('eval', [script.source, ...args.slice(1)]) : null;
      waiting.resolve(await (sent ?? this.#shards.follow(command, args)));
    } catch (error) {
      waiting.reject(limiterError(waiting, error instanceof Error ? error : new Error('no reply')));
    }
  }
}

/** Redis's own messages name commands and scripts, never arguments. */
const limiterError = ({ command, script }: WaitingCommand, cause: Error, notRun = false): LimiterError =>
  new LimiterError('redis', `${script?.name ?? command} failed: ${toldOf(cause)}`, { cause, notRun });

/** ioredis tells what its stream can do, and not that there is no connection. */
const toldOf = ({ message }: Error): string =>
  message.startsWith("Stream isn't writeable") ? 'there is no connection' : message;
