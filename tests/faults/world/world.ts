import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Control } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import { type Stack, type StackOptions, startStack } from '@tidegate/local';
import { createRedisConnection } from '@tidegate/redis';
import type { Redis } from 'ioredis';
import { openControl } from '../../support/control.ts';
import { asTheirRoles } from '../../support/test-stack.mjs';
import type { Org } from './org.ts';
import { Witness } from './witness.ts';

export interface WorldOptions extends StackOptions {
  /** Shifts limiter time from Redis' clock. */
  readonly clockOffsetMs?: number;
}

const KILL_AGAIN_MS = 20;

/** A process that was killed, and when. */
export interface Kill {
  readonly victim: string;
  readonly atMs: number;
  /** When it was back. 0: not yet. */
  backMs: number;
}

interface Parts {
  readonly stack: Stack;
  readonly witness: Witness;
  readonly caps: Map<string, number>;
  readonly recovered: Map<string, () => void>;
  readonly close: (() => Promise<unknown>)[];
  readonly clockOffsetMs: number;
}

/** A real stack, with organizations to load it and a model that counts. */
export class World {
  readonly stack: Stack;
  readonly witness: Witness;
  readonly redis: Redis;
  readonly db: Db;
  readonly control: Control;
  readonly orgs: Org[] = [];
  /** The cap on requests at once of each key and organization, by id. The model checks them. */
  readonly caps: Map<string, number>;
  /** Every kill so far, and every failover of Redis. */
  readonly kills: Kill[] = [];
  /** Paused gateways. Nobody sends requests to them. */
  readonly paused = new Set<string>();
  /** Since when nothing that reaping needs has been down. Infinity: something is down. */
  reapingPossibleSinceMs = 0;
  readonly #clockOffsetMs: number;
  readonly #close: (() => Promise<unknown>)[];
  readonly #recovered: Map<string, () => void>;
  #keptDown: { readonly names: readonly string[]; readonly timer: NodeJS.Timeout } | undefined;

  private constructor(parts: Parts) {
    this.stack = parts.stack;
    this.witness = parts.witness;
    this.caps = parts.caps;
    this.#clockOffsetMs = parts.clockOffsetMs;
    this.#recovered = parts.recovered;
    this.#close = parts.close;
    this.redis = createRedisConnection(this.stack.info.redis, {
      maxRetriesPerRequest: 0,
      retryStrategy: () => 100,
    });
    this.redis.on('error', () => {});
    const { control, db, close } = openControl(this.stack, () => this.nowMs());
    this.db = db;
    this.control = control;
    this.#close.push(async () => {
      this.redis.disconnect();
      await close();
    });
  }

  static async start({ clockOffsetMs = 0, env, ...options }: WorldOptions = {}): Promise<World> {
    const dataDir = mkdtempSync(join(tmpdir(), 'tidegate-faults-'));
    const caps = new Map<string, number>();
    const recovered = new Map<string, () => void>();
    const close = [async () => rmSync(dataDir, { recursive: true, force: true })];
    const given = options.databaseUrl ? asTheirRoles(options.databaseUrl, env) : env;
    try {
      const witness = await Witness.start((name) => caps.get(name) ?? Number.POSITIVE_INFINITY);
      close.push(() => witness.close());
      const stack = await startStack({
        dataDir,
        ports: 'random',
        demo: false,
        scale: { gateway: 2, limiter: 2 },
        stopTimeoutMs: 3_000,
        redisAppendfsync: 'always',
        report: { recovered: (name) => recovered.get(name)?.() },
        env: { ...given, limiter: { LIMITER_CLOCK_OFFSET_MS: String(clockOffsetMs), ...given?.limiter } },
        ...options,
      });
      close.push(() => stack.stop());
      return new World({ stack, witness, caps, recovered, close, clockOffsetMs });
    } catch (error) {
      for (const step of close.reverse()) await step();
      throw error;
    }
  }

  /** Limiter time: this machine's clock, which is Redis' too, shifted by the tests. */
  nowMs(): number {
    return Date.now() + this.#clockOffsetMs;
  }

  get gateways(): readonly string[] {
    return this.stack.info.gateways.filter((_, i) => !this.paused.has(gatewayName(i)));
  }

  /** When the gateway with this address was killed. */
  killsOfGateway(address: string): number[] {
    const name = gatewayName(this.stack.info.gateways.indexOf(address));
    return this.kills.filter(({ victim }) => victim === name).map(({ atMs }) => atMs);
  }

  /** The kills of a limiter or of Redis. */
  get backendKills(): readonly Kill[] {
    return this.kills.filter(({ victim }) => victim === 'redis' || victim.startsWith('limiter'));
  }

  /**
   * Kills a member of the stack. Resolves when it is back. Rejects when it is not back within
   * `timeoutMs`.
   */
  async kill(name: string, timeoutMs = 60_000): Promise<void> {
    const pid = this.stack.pid(name);
    const kill: Kill = { victim: name, atMs: Date.now(), backMs: 0 };
    this.kills.push(kill);
    const back = this.untilBack(name, pid, timeoutMs);
    this.stack.kill(name, 'SIGKILL');
    await back;
    kill.backMs = Date.now();
  }

  /** Resolves when the member is ready as a process other than `pid`. */
  async untilBack(name: string, pid: number, timeoutMs = 60_000): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(reject, timeoutMs, new Error(`${name} did not come back within ${timeoutMs} ms`));
      this.#recovered.set(name, () => this.stack.pid(name) !== pid && resolve());
    }).finally(() => clearTimeout(timer));
  }

  /** Kills members, and their successors, until `letUp`. */
  keepDown(names: readonly string[]): void {
    const killed = new Map<string, number>();
    const again = () => {
      for (const name of names) {
        const pid = this.stack.pid(name);
        if (pid === 0 || killed.get(name) === pid) continue;
        killed.set(name, pid);
        this.stack.kill(name, 'SIGKILL');
      }
    };
    again();
    this.#keptDown = { names, timer: setInterval(again, KILL_AGAIN_MS) };
  }

  /** Lets the members start again. Resolves when they are ready. */
  async letUp(): Promise<void> {
    const { names, timer } = this.#keptDown ?? { names: [] };
    clearInterval(timer);
    await Promise.all(names.map((name) => this.untilBack(name, 0)));
  }

  async stop(): Promise<void> {
    clearInterval(this.#keptDown?.timer);
    for (const step of this.#close.reverse()) await step();
  }
}

const gatewayName = (index: number): string => (index === 0 ? 'gateway' : `gateway-${index + 1}`);
