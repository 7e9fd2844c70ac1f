import type { Redis } from 'ioredis';
import { LimiterError } from '../limiter-error.ts';
import { SCRIPTS, type Script } from '../scripts.ts';
import { EncodedCommand, Outgoing } from './encoded.ts';
import {
  type Argument,
  evalshaArgs,
  type ScriptInput,
  type ScriptReply,
  SharedRun,
  type WaitingCommand,
} from './script-call.ts';
import { hasMoved, type Shards } from './shards.ts';

/**
 * Calls per pipeline. Enough to share its cost, few enough that Redis can begin while the next ones
 * are being built.
 */
const MAX_PIPELINE = 32;

/**
 * Redis answers when one replica has everything that this connection wrote. It may take forever:
 * the connection's own time limit ends it.
 */
const WAIT_FOR_ONE = [1, 0] as const;

/** What will be sent to one server. */
interface Pipeline {
  readonly commands: WaitingCommand[];
  /** At least as many as commands: a shared run is for several calls. */
  calls: number;
  /** The runs that further calls may join. */
  readonly shared: Map<string, SharedRun>;
}

export interface StoreOptions {
  readonly shards: Shards;
  /** Reports the seconds from sending a pipeline to its last reply. */
  readonly onPipeline?: (seconds: number, commands: number) => void;
}

/**
 * Runs scripts and commands. Everything asked of one server in one turn travels as one pipeline.
 * Rejects with LimiterError; in that case the command may or may not have run. If the server
 * requires replicas, an answer counts only when one of them has every write that it depends on. So
 * nothing that was answered is lost when a replica takes over, whatever the old master still
 * answers. A command is sent again only if Redis says that it did not run: a script that Redis lost
 * in a restart or, in a cluster, a command whose keys belong to another node.
 */
export class Store {
  readonly #shards: Shards;
  readonly #onPipeline: (seconds: number, commands: number) => void;
  #waiting = new Map<Redis, Pipeline>();
  readonly #loading = new WeakMap<Redis, Set<Script>>();

  constructor({ shards, onPipeline }: StoreOptions) {
    this.#shards = shards;
    this.#onPipeline = onPipeline ?? (() => {});
  }

  /** Runs a script for one call. */
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<ScriptReply> {
    const all = evalshaArgs(script, { keys, args });
    return this.#ask(this.#shards.of(keys[0] ?? null), 'evalsha', all, script) as Promise<ScriptReply>;
  }

  /**
   * Runs a script once for the calls of one group that come in one turn. Calls share a run only if
   * nothing but calls of other groups was asked of the server between them.
   * @param group names `shared`, which the first call of a group supplies
   * @param own what the script is given for this call
   */
  runShared(
    script: Script,
    group: string,
    shared: () => ScriptInput,
    own: ScriptInput,
  ): Promise<ScriptReply> {
    return new Promise((resolve, reject) => {
      const shard = this.#shards.of(own.keys[0] ?? null);
      if (shard === null) return reject(unavailable(script.name));
      const pipeline = this.#pipelineTo(shard);
      const name = `${script.name} ${group}`;
      let run = pipeline.shared.get(name);
      if (!run) {
        run = new SharedRun(script, shared());
        pipeline.shared.set(name, run);
        pipeline.commands.push(run);
      }
      run.add(own, { resolve, reject });
      this.#added(pipeline, shard);
    });
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
      if (shard === null) return reject(unavailable(script?.name ?? command));
      const pipeline = this.#pipelineTo(shard);
      // So calls before and after this one keep their order.
      pipeline.shared.clear();
      pipeline.commands.push({ command, args, script, resolve, reject });
      this.#added(pipeline, shard);
    });
  }

  /** The pipeline to which this turn's calls are added. */
  #pipelineTo(shard: Redis): Pipeline {
    const present = this.#waiting.get(shard);
    if (present) return present;
    if (this.#waiting.size === 0) queueMicrotask(() => this.#flush());
    const pipeline = { commands: [], calls: 0, shared: new Map() };
    this.#waiting.set(shard, pipeline);
    return pipeline;
  }

  #added(pipeline: Pipeline, shard: Redis): void {
    if (++pipeline.calls < MAX_PIPELINE) return;
    this.#waiting.delete(shard);
    this.#send(shard, pipeline.commands);
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    for (const [shard, { commands }] of waiting) this.#send(shard, commands);
  }

  /** Sends the commands of a batch in one write. Pipelines of ioredis cost twice as much. */
  #send(shard: Redis, batch: readonly WaitingCommand[], again = false): void {
    const startedMs = performance.now();
    const outgoing = new Outgoing(shard);
    const wait = this.#shards.awaitsReplica(shard) ? new EncodedCommand('wait', WAIT_FOR_ONE) : null;
    // If it fails, so do the replies that await it.
    wait?.promise.catch(() => {});
    let last: Promise<unknown> = Promise.resolve();
    try {
      for (const waiting of batch) {
        const command = new EncodedCommand(waiting.command, waiting.args);
        const replied = wait
          ? command.promise.then((reply) => wait.promise.then(() => reply))
          : command.promise;
        last = replied.then(
          (reply) => waiting.resolve(reply),
          (error: Error) => this.#failed(shard, waiting, error, again),
        );
        shard.sendCommand(command, outgoing);
      }
      if (wait) shard.sendCommand(wait, outgoing);
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

/** Redis' own messages name commands and scripts, never arguments. */
const limiterError = ({ command, script }: WaitingCommand, cause: Error): LimiterError =>
  new LimiterError('redis', `${script?.name ?? command} failed: ${toldOf(cause)}`, { cause });

const unavailable = (name: string): LimiterError =>
  new LimiterError('redis', `${name} failed: its server is unavailable`, { notRun: true });

/** ioredis reports the state of its stream instead of saying that there is no connection. */
const toldOf = ({ message }: Error): string =>
  message.startsWith("Stream isn't writeable") ? 'there is no connection' : message;
