import { Command, type Redis } from 'ioredis';
import { SCRIPTS, type Script } from '../scripts.ts';
import { Undecided } from '../undecided.ts';
import { hasMoved, type Shards } from './shards.ts';

/** A script's reply: its code, then what comes with it. */
export type ScriptReply = readonly [code: string, ...rest: (string | number)[]];

/** Commands in one pipeline: enough to share its cost, few enough that Redis begins while the next are being made. */
const MAX_PIPELINE = 32;

type Argument = string | number;

interface Waiting {
  readonly command: string;
  readonly args: readonly Argument[];
  readonly script: Script | null;
  resolve(reply: unknown): void;
  reject(error: Undecided): void;
}

export interface StoreOptions {
  readonly shards: Shards;
  /** Seconds from a pipeline's sending to its last reply. */
  readonly onPipeline?: (seconds: number, commands: number) => void;
}

/**
 * Runs scripts and commands. All that is asked of one server in one turn travels as one pipeline. Rejects with Undecided; what ran
 * then is not known. Sent again is only what Redis says it has not run: scripts that it has lost (a restart), and in a cluster
 * what belongs to another node.
 */
export class Store {
  readonly #shards: Shards;
  readonly #onPipeline: (seconds: number, commands: number) => void;
  #waiting = new Map<Redis, Waiting[]>();
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

  /** A command that names no key, where that key is; for null anywhere. */
  commandAt(key: string | null, command: string, ...args: Argument[]): Promise<unknown> {
    return this.#ask(this.#shards.of(key), command, args, null);
  }

  /** Loads every script, so that the hot path meets none that is missing. */
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
        reject(undecided(waiting, new Error('its server is away'), true));
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

  /** The commands of a batch leave in one write: ioredis' own pipelines cost twice as much. */
  #send(shard: Redis, batch: readonly Waiting[], again = false): void {
    const startedMs = performance.now();
    const { stream } = shard;
    let last: Promise<unknown> = Promise.resolve();
    stream?.cork();
    try {
      for (const waiting of batch) {
        const command = new Command(waiting.command, [...waiting.args], { replyEncoding: 'utf8' });
        last = command.promise.then(waiting.resolve, (error: Error) =>
          this.#failed(shard, waiting, error, again),
        );
        shard.sendCommand(command);
      }
    } finally {
      // A socket that stayed corked would send nothing more.
      stream?.uncork();
    }
    void last.then(() => this.#onPipeline((performance.now() - startedMs) / 1_000, batch.length));
  }

  #failed(shard: Redis, waiting: Waiting, error: Error, again: boolean): void {
    const { script } = waiting;
    if (script && !again && error.message.startsWith('NOSCRIPT')) {
      this.#send(shard, [...this.#loadOnce(shard, script), waiting], true);
    } else if (hasMoved(error)) void this.#follow(waiting);
    else waiting.reject(undecided(waiting, error));
  }

  /** What loads a script; nothing while it is on its way already, for commands run in their order. */
  #loadOnce(shard: Redis, script: Script): Waiting[] {
    const loading = this.#loading.get(shard) ?? new Set();
    this.#loading.set(shard, loading);
    if (loading.has(script)) return [];
    loading.add(script);
    const over = () => void loading.delete(script);
    return [{ command: 'script', args: ['LOAD', script.source], script: null, resolve: over, reject: over }];
  }

  /** With its source: where it has gone, the script may not be known. */
  async #follow(waiting: Waiting): Promise<void> {
    const { command, args, script } = waiting;
    try {
      const sent = script ? this.#shards.follow('eval', [script.source, ...args.slice(1)]) : null;
      waiting.resolve(await (sent ?? this.#shards.follow(command, args)));
    } catch (error) {
      waiting.reject(undecided(waiting, error instanceof Error ? error : new Error('no reply')));
    }
  }
}

/** Redis' own words name commands and scripts, never arguments. */
const undecided = ({ command, script }: Waiting, cause: Error, notRun = false): Undecided =>
  new Undecided('redis', `${script?.name ?? command} failed: ${cause.message}`, { cause, notRun });
