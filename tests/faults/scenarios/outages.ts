import { readFileSync } from 'node:fs';
import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import { Load } from '../load/load.ts';
import { pause, type Random } from '../world/random.ts';
import { type Store, startStores } from '../world/stores.ts';
import type { World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { within } from './within.ts';

const ERROR_WITHIN_MS = 250;
const BACK_WITHIN_MS = 2_000;
/** A request that began so shortly before an outage may feel it. */
const EDGE_MS = 300;

/** Each store and service away for a while, one after the other, under load. */
export const outages: Scenario = {
  name: 'outages of Postgres, Redis, limiters, metering, runner',
  laws: '1, 2, 4',
  unit: 'outages',
  async run(random, size) {
    const stores = await startStores();
    const lastsMs = size === 'short' ? 6_000 : 30_000;
    const options = { databaseUrl: stores.postgres.url, redisUrl: stores.redis.url };
    try {
      return await within(options, async (world) => {
        const outage = new Outages(world, random, lastsMs);
        for (let i = 0; i < 3; i++)
          await world.makeOrg({ keys: [{ atOnce: 20 }, { atOnce: 20 }], models: ['tide'] });
        await outage.everyKeySeen();
        await outage.ofWhatIsNotNeeded('Postgres', stores.postgres.down, stores.postgres.up);
        await outage.ofWhatDecides('Redis', stores.redis);
        await outage.ofLimiters();
        for (const name of ['metering', 'runner']) {
          const signal = (by: NodeJS.Signals) => async () => world.stack.kill(name, by);
          await outage.ofWhatIsNotNeeded(name, signal('SIGSTOP'), signal('SIGCONT'));
        }
        const unquiet = await untilQuiet(world);
        const audited = await audit(world, outage.seen);
        return {
          violations: [...outage.violations, ...unquiet, ...audited.violations],
          trials: 5,
          notes: `${outage.notes.join('; ')} ${JSON.stringify(audited.counts)}`,
        };
      });
    } finally {
      await stores.stop();
    }
  },
};

class Outages {
  readonly seen: Seen[] = [];
  readonly violations: string[] = [];
  readonly notes: string[] = [];
  readonly #world: World;
  readonly #random: Random;
  readonly #lastsMs: number;
  #probes = 0;

  constructor(world: World, random: Random, lastsMs: number) {
    this.#world = world;
    this.#random = random;
    this.#lastsMs = lastsMs;
  }

  async everyKeySeen(): Promise<void> {
    for (const gateway of this.#world.gateways)
      for (const { keys } of this.#world.orgs)
        for (const key of keys) this.seen.push(await send(plainAsk(key, gateway, { tag: this.#tag() })));
  }

  /** Everything that is under way goes on; no key is called invalid. */
  async ofWhatIsNotNeeded(name: string, down: () => Promise<void>, up: () => Promise<void>): Promise<void> {
    const before = this.#memory();
    const load = new Load(this.#world, this.#random, { clients: 12, hangUps: 0, longestMs: 500 });
    await pause(500);
    await down();
    await pause(this.#lastsMs);
    const during = this.#memory();
    await up();
    const seen = await load.stop();
    this.seen.push(...seen);
    for (const one of seen)
      if (one.status !== 200) this.violations.push(`${name} away: ${one.status} ${one.code}`);
    this.violations.push(...(await untilQuiet(this.#world)).map((text) => `after ${name}: ${text}`));
    this.notes.push(`${name}: ${seen.length} answered; MB ${before} > ${during} > ${this.#memory()}`);
  }

  /** Nothing is admitted, errors come at once, and service is back soon after. */
  async ofWhatDecides(name: string, store: Store): Promise<void> {
    await store.down();
    const downMs = Date.now();
    const errors: Seen[] = [];
    while (Date.now() - downMs < this.#lastsMs) {
      errors.push(await this.#probe());
      await pause(20);
    }
    await store.up();
    this.#judge(
      name,
      errors.filter(({ startedMs }) => startedMs - downMs > EDGE_MS),
      true,
    );
    const back = await this.#untilBack(name);
    this.violations.push(...(await untilQuiet(this.#world)).map((text) => `after ${name}: ${text}`));
    this.notes.push(`${name}: back after ${back} ms`);
  }

  /** Killed together; the stack starts them again, so there is an answer from each side of it. */
  async ofLimiters(): Promise<void> {
    const errors: Seen[] = [];
    let there = false;
    const returned = Promise.all(['limiter', 'limiter-2'].map((name) => this.#world.kill(name)));
    void returned.then(() => {
      there = true;
    });
    while (!there) errors.push(await this.#probe());
    await returned;
    this.#judge(
      'limiters',
      errors.filter(({ status }) => status !== 200),
      false,
    );
    this.notes.push(`limiters: back after ${await this.#untilBack('limiters')} ms`);
  }

  #judge(name: string, errors: readonly Seen[], none: boolean): void {
    const took = errors.map(({ startedMs, endedMs }) => endedMs - startedMs).sort((a, b) => a - b);
    const p95 = took[Math.floor(took.length * 0.95)] ?? 0;
    if (p95 > ERROR_WITHIN_MS) this.violations.push(`${name} away: errors within ${p95} ms (p95)`);
    for (const { status, code } of errors)
      if (code !== 'internal_error') this.violations.push(`${name} away: ${status} ${code}`);
    const called = new Set(this.#world.witness.calls.map(({ order }) => order.tag));
    if (none && errors.some(({ ask }) => called.has(ask.order.tag)))
      this.violations.push(`${name} away: a request reached the model`);
    this.notes.push(`${name}: ${errors.length} errors, p95 ${p95} ms, slowest ${took.at(-1)} ms`);
  }

  async #untilBack(name: string): Promise<number> {
    const sinceMs = Date.now();
    for (const gateway of this.#world.gateways) {
      while ((await this.#probe(gateway)).status !== 200) {
        if (Date.now() - sinceMs > 30_000) break;
        await pause(20);
      }
    }
    const tookMs = Date.now() - sinceMs;
    if (tookMs > BACK_WITHIN_MS) this.violations.push(`${name}: full service only after ${tookMs} ms`);
    return tookMs;
  }

  async #probe(gateway = this.#random.pick(this.#world.gateways)): Promise<Seen> {
    const key = this.#random.pick(this.#random.pick(this.#world.orgs).keys);
    const seen = await send(plainAsk(key, gateway, { tag: this.#tag() }));
    this.seen.push(seen);
    return seen;
  }

  #tag = (): string => `probe-${this.#probes++}`;

  /** Resident megabytes of all gateways, limiters and metering. */
  #memory(): number {
    const kb = this.#world.stack.info.services
      .filter(({ name }) => name !== 'runner' && name !== 'console')
      .map(({ pid }) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0));
    return Math.round(kb.reduce((sum, one) => sum + one, 0) / 1_024);
  }
}
