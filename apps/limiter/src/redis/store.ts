import type { Redis } from 'ioredis';
import { SCRIPTS, type Script } from '../scripts.ts';
import { Undecided } from '../undecided.ts';

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
  readonly redis: Redis;
  /** Seconds from a pipeline's sending to its last reply. */
  readonly onPipeline?: (seconds: number, commands: number) => void;
}

/**
 * Runs scripts and commands. All that is asked for in one turn travels as one pipeline. Rejects with Undecided; what ran then
 * is not known. Scripts that Redis has lost (a restart) are loaded again and run once more: NOSCRIPT means that nothing ran.
 */
export class Store {
  readonly #redis: Redis;
  readonly #onPipeline: (seconds: number, commands: number) => void;
  #waiting: Waiting[] = [];

  constructor({ redis, onPipeline }: StoreOptions) {
    this.#redis = redis;
    this.#onPipeline = onPipeline ?? (() => {});
  }

  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<ScriptReply> {
    return this.#ask('evalsha', [script.sha, script.keys, ...keys, ...args], script) as Promise<ScriptReply>;
  }

  command(command: string, ...args: Argument[]): Promise<unknown> {
    return this.#ask(command, args, null);
  }

  /** Loads every script, so that the hot path meets none that is missing. */
  async loadScripts(): Promise<void> {
    await Promise.all(Object.values(SCRIPTS).map(({ source }) => this.command('script', 'LOAD', source)));
  }

  #ask(command: string, args: readonly Argument[], script: Script | null): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) queueMicrotask(() => this.#flush());
      this.#waiting.push({ command, args, script, resolve, reject });
      if (this.#waiting.length >= MAX_PIPELINE) this.#flush();
    });
  }

  #flush(): void {
    const batch = this.#waiting;
    if (batch.length === 0) return;
    this.#waiting = [];
    void this.#send(batch, false);
  }

  async #send(batch: readonly Waiting[], again: boolean): Promise<void> {
    const startedMs = performance.now();
    const pipeline = this.#redis.pipeline();
    for (const { command, args } of batch) pipeline.call(command, ...args);
    const results = (await pipeline.exec()) ?? [];
    this.#onPipeline((performance.now() - startedMs) / 1_000, batch.length);

    const missing: Waiting[] = [];
    batch.forEach((waiting, i) => {
      const [error, reply] = results[i] ?? [new Error('no reply')];
      if (!error) waiting.resolve(reply);
      else if (waiting.script && !again && error.message.startsWith('NOSCRIPT')) missing.push(waiting);
      else waiting.reject(undecided(waiting, error));
    });
    if (missing.length > 0) await this.#sendWithSource(missing);
  }

  async #sendWithSource(missing: readonly Waiting[]): Promise<void> {
    const sources = new Set(missing.map(({ script }) => script?.source ?? ''));
    const pipeline = this.#redis.pipeline();
    for (const source of sources) pipeline.call('script', 'LOAD', source);
    await pipeline.exec();
    await this.#send(missing, true);
  }
}

/** Redis' own words name commands and scripts, never arguments. */
const undecided = ({ command, script }: Waiting, cause: Error): Undecided =>
  new Undecided('redis', `${script?.name ?? command} failed: ${cause.message}`, { cause });
