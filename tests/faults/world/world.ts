import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { orgTagOf, randomBase62 } from '@tidegate/contracts';
import { type Control, createControl, limiterOverGrpc, type Result, runnerOverGrpc } from '@tidegate/control';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { type Stack, type StackOptions, startStack } from '@tidegate/local';
import { eventually } from '@tidegate/testing';
import { Redis } from 'ioredis';
import { Witness } from './witness.ts';

const OPERATOR = { kind: 'operator' } as const;
const MANY = 1_000_000_000;
/** Of every model. */
export const CONTEXT_TOKENS = 1_000;

export interface OrgWish {
  readonly requestsMonth?: number;
  readonly tokensMonth?: number;
  readonly requestsMinute?: number;
  readonly atOnce?: number;
  readonly keys: readonly { readonly rpm?: number; readonly atOnce?: number }[];
  readonly models?: readonly string[];
}

export interface Key {
  readonly id: string;
  readonly value: string;
  readonly rpm: number;
  readonly atOnce: number;
  readonly org: Org;
}

export interface Org {
  readonly id: string;
  readonly slug: string;
  /** Inside the braces of its Redis keys. */
  readonly tag: string;
  readonly requestsMonth: number;
  readonly tokensMonth: number;
  readonly requestsMinute: number;
  readonly atOnce: number;
  readonly keys: Key[];
  /** Ids by published name. */
  readonly models: Map<string, string>;
}

/** A real stack of its own, with organizations to load it and a model that counts. */
export class World {
  readonly stack: Stack;
  readonly witness: Witness;
  readonly redis: Redis;
  readonly db: Db;
  readonly control: Control;
  readonly orgs: Org[] = [];
  /** Every SIGKILL so far. */
  readonly kills: { readonly victim: string; readonly atMs: number }[] = [];
  /** Gateways that stand still: nobody sends to them. */
  readonly paused = new Set<string>();
  readonly #caps: Map<string, number>;
  readonly #close: (() => Promise<unknown>)[];
  readonly #recovered: Map<string, () => void>;

  private constructor(parts: {
    stack: Stack;
    witness: Witness;
    caps: Map<string, number>;
    recovered: Map<string, () => void>;
    close: (() => Promise<unknown>)[];
  }) {
    this.stack = parts.stack;
    this.witness = parts.witness;
    this.#caps = parts.caps;
    this.#recovered = parts.recovered;
    this.#close = parts.close;
    const env = JSON.parse(readFileSync(join(this.stack.dataDir, 'env.json'), 'utf8'));
    this.redis = new Redis(env.REDIS_URL, { maxRetriesPerRequest: 0, retryStrategy: () => 100 });
    this.redis.on('error', () => {});
    this.db = createDb(env.DATABASE_URL, { maxConnections: 3 });
    const limiter = limiterOverGrpc(env.LIMITER_ADDRESSES.split(','));
    const runner = runnerOverGrpc(env.RUNNER_ADDRESS);
    const secretKey = Buffer.from(env.SECRET_KEY, 'base64');
    this.control = createControl({ db: this.db, limiter, runner, secretKey, now: Date.now });
    this.#close.push(async () => {
      this.redis.disconnect();
      limiter.close();
      runner.close();
      await closeDb(this.db);
    });
  }

  static async start(options: StackOptions = {}): Promise<World> {
    const dataDir = mkdtempSync(join(tmpdir(), 'tidegate-faults-'));
    const caps = new Map<string, number>();
    const recovered = new Map<string, () => void>();
    const close = [async () => rmSync(dataDir, { recursive: true, force: true })];
    try {
      const witness = await Witness.start((name) => caps.get(name) ?? MANY);
      close.push(() => witness.close());
      const stack = await startStack({
        dataDir,
        ports: 'random',
        demo: false,
        scale: { gateway: 2, limiter: 2 },
        stopTimeoutMs: 3_000,
        report: { recovered: (name) => recovered.get(name)?.() },
        ...options,
      });
      close.push(() => stack.stop());
      return new World({ stack, witness, caps, recovered, close });
    } catch (error) {
      for (const step of close.reverse()) await step();
      throw error;
    }
  }

  get gateways(): readonly string[] {
    return this.stack.info.gateways.filter((_, i) => !this.paused.has(gatewayName(i)));
  }

  /** When the gateway of this address was killed. */
  killsOfGateway(address: string): number[] {
    const name = gatewayName(this.stack.info.gateways.indexOf(address));
    return this.kills.filter(({ victim }) => victim === name).map(({ atMs }) => atMs);
  }

  /** When a limiter or Redis was killed. */
  get killsBehind(): number[] {
    return this.kills
      .filter(({ victim }) => victim === 'redis' || victim.startsWith('limiter'))
      .map(({ atMs }) => atMs);
  }

  /** SIGKILLs a member of the stack; resolves when it is there again. Rejects when it is not within `timeoutMs`. */
  async kill(name: string, timeoutMs = 60_000): Promise<void> {
    const pid = this.stack.pid(name);
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(reject, timeoutMs, new Error(`${name} did not come back within ${timeoutMs} ms`));
      this.#recovered.set(name, () => this.stack.pid(name) !== pid && resolve());
      this.kills.push({ victim: name, atMs: Date.now() });
      this.stack.kill(name, 'SIGKILL');
    }).finally(() => clearTimeout(timer));
  }

  async makeOrg(wish: OrgWish): Promise<Org> {
    const name = `Org ${randomBase62(8)}`;
    const limits = {
      requestsMonth: wish.requestsMonth ?? MANY,
      tokensMonth: wish.tokensMonth ?? MANY,
      requestsMinute: wish.requestsMinute ?? 1_000_000,
      atOnce: wish.atOnce ?? 10_000,
    };
    must(
      await this.control.setPlan(OPERATOR, {
        name,
        keys: 50,
        requestsPerMonth: limits.requestsMonth,
        tokensPerMonth: limits.tokensMonth,
        requestsPerMinute: limits.requestsMinute,
        requestsAtOnce: limits.atOnce,
        images: false,
      }),
    );
    const { id, slug } = must(await this.control.createOrg(OPERATOR, { name, plan: name }));
    const org: Org = { id, slug, tag: orgTagOf(id), ...limits, keys: [], models: new Map() };
    this.#caps.set(id, limits.atOnce);
    for (const model of wish.models ?? ['tide', 'ebb'])
      org.models.set(model, await this.#publish(slug, model));
    for (const key of wish.keys) await this.makeKey(org, key);
    await this.#everyGatewayKnows(org);
    this.orgs.push(org);
    return org;
  }

  async makeKey(org: Org, { rpm = 6_000, atOnce = 256 }: { rpm?: number; atOnce?: number }): Promise<Key> {
    const wish = { org: org.slug, name: 'Load', requestsPerMinute: rpm, requestsAtOnce: atOnce };
    const { id, key } = must(await this.control.createKey(OPERATOR, wish));
    const made = { id, value: key, rpm, atOnce, org };
    this.#caps.set(id, atOnce);
    org.keys.push(made);
    return made;
  }

  async revoke(key: Key): Promise<void> {
    must(await this.control.revokeKey(OPERATOR, { org: key.org.slug, id: key.id }));
  }

  async stop(): Promise<void> {
    for (const step of this.#close.reverse()) await step();
  }

  /** A gateway hears of a new model a moment later. */
  async #everyGatewayKnows(org: Org): Promise<void> {
    const { value } = org.keys[0] ?? (await this.makeKey(org, {}));
    const headers = { authorization: `Bearer ${value}` };
    for (const gateway of this.gateways) {
      const known = async () => {
        const { data } = (await (await fetch(`${gateway}/models`, { headers })).json()) as {
          data: unknown[];
        };
        return data.length === org.models.size;
      };
      await eventually(known, { timeoutMs: 20_000, intervalMs: 100 });
    }
  }

  async #publish(org: string, name: string): Promise<string> {
    const model = must(
      await this.control.publishModel(OPERATOR, {
        org,
        name,
        kind: 'text',
        mode: 'always_on',
        contextTokens: CONTEXT_TOKENS,
        urls: [this.witness.url],
      }),
    );
    await eventually(
      async () => (await this.db.model.findUnique({ where: { id: model.id } }))?.condition === 'running',
      { timeoutMs: 20_000 },
    );
    return model.id;
  }
}

const gatewayName = (index: number): string => (index === 0 ? 'gateway' : `gateway-${index + 1}`);

function must<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new Error(result.refusal.message);
}
