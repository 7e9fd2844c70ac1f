import { eventually } from '@tidegate/testing';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import { Load } from '../load/load.ts';
import type { Key } from '../world/org.ts';
import { pause, type Random } from '../world/random.ts';
import type { World } from '../world/world.ts';

const ERROR_WITHIN_MS = 250;
const BACK_WITHIN_MS = 2_000;
/** A request that began this soon after an outage began may still have been decided. */
const EDGE_MS = 500;
const GIVEN_UP_MS = 60_000;
/** Ends before a gateway that reaches no limiter ends its requests. */
const SHORT_ANSWER_MS = 3_000;
/** Ends after a lease, and before the shorter outages of a long campaign do. */
const LONG_ANSWER_MS = 20_000;
const CHUNK_MS = 200;

export interface OutageOptions {
  readonly name: string;
  readonly world: World;
  readonly random: Random;
  readonly lastsMs: number;
  /** A valid key that has not been used yet. */
  readonly unseen: Key | undefined;
}

/** One outage, as clients see it. */
export class InducedOutage {
  readonly seen: Seen[] = [];
  readonly violations: string[] = [];
  readonly figures: Record<string, string | number> = {};
  readonly #options: OutageOptions;
  #probes = 0;

  constructor(options: OutageOptions) {
    this.#options = options;
  }

  /**
   * An outage of something that requests do not need. Requests continue, every known key is served,
   * and no valid key is called invalid.
   */
  async ofOptional(down: () => Promise<void>, up: () => Promise<void>): Promise<void> {
    const { world, random, lastsMs, unseen } = this.#options;
    const load = new Load(world, random, { clients: 12, hangUps: 0, restMs: 100, longestMs: 500 });
    await pause(1_000);
    await down();
    await pause(lastsMs / 2);
    if (unseen) {
      for (const gateway of world.gateways) {
        const { status, code } = await this.#probe(gateway, unseen);
        if (status === 401) this.#wrong(`a valid key that was not known yet: ${status} ${code}`);
      }
    }
    await pause(lastsMs / 2);
    await up();
    const seen = await load.stop();
    this.seen.push(...seen);
    for (const one of seen) if (one.status !== 200) this.#wrong(`${one.status} ${one.code}`);
    this.figures.answered = seen.length;
  }

  /**
   * An outage of something that decides requests. Nothing is admitted, errors come immediately, and
   * service is back soon after.
   *
   * @param endsLeases no lease is renewed, but some limiter may reap: answers that take longer than
   *   a lease break off. Otherwise all answers under way are finished.
   */
  async ofRequired(down: () => Promise<void>, up: () => Promise<void>, endsLeases: boolean): Promise<void> {
    const { world, lastsMs } = this.#options;
    const under = await this.#answersUnderWay();
    await down();
    const downMs = Date.now();
    let going = true;
    const clients = Array.from({ length: 4 }, async () => {
      while (going) {
        await this.#probe();
        await pause(20);
      }
    });
    await pause(lastsMs);
    going = false;
    await Promise.all(clients);
    const meanwhile = this.seen.filter(
      ({ startedMs, status }) => status !== 200 || startedMs - downMs > EDGE_MS,
    );
    await up();
    this.figures.backMs = await this.#untilBack(world.gateways);
    this.#judge(meanwhile);
    for (const { seen, lasts } of under) {
      const { status, complete, ask } = await seen;
      this.seen.push(await seen);
      const breaksOff = endsLeases && lasts > SHORT_ANSWER_MS;
      if (status !== 200 || complete === breaksOff)
        this.#wrong(`an answer of ${lasts} ms (${ask.order.tag}): ${status}, complete: ${complete}`);
    }
  }

  /**
   * Starts answers through each gateway, before the outage. One ends in its first seconds, and one
   * much later. Resolves once the model answers them.
   */
  async #answersUnderWay() {
    const { world, random, lastsMs } = this.#options;
    const lengths = [SHORT_ANSWER_MS, LONG_ANSWER_MS].filter((lasts) => lasts < lastsMs);
    const answers = world.gateways.flatMap((gateway, i) =>
      lengths.map((lasts) => {
        const key = random.pick(random.pick(world.orgs).keys);
        const order = { tag: `under-way-${i}-${lasts}`, gapMs: CHUNK_MS, tokens: lasts / CHUNK_MS };
        return { lasts, seen: send({ ...plainAsk(key, gateway, order), stream: true }) };
      }),
    );
    const called = () => world.witness.calls.filter(({ order }) => order.tag.startsWith('under-way'));
    await eventually(() => called().length === answers.length);
    return answers;
  }

  /** @param errors the answers during the outage, which should all be errors */
  #judge(errors: readonly Seen[]): void {
    const took = errors.map(({ startedMs, endedMs }) => endedMs - startedMs).sort((a, b) => a - b);
    const p95 = took[Math.floor(took.length * 0.95)] ?? 0;
    if (p95 > ERROR_WITHIN_MS) this.#wrong(`errors within ${p95} ms (p95)`);
    for (const { status, code } of errors)
      if (code !== 'internal_error') this.#wrong(`answered ${status} ${code}`);
    const called = new Set(this.#options.world.witness.calls.map(({ order }) => order.tag));
    if (errors.some(({ ask }) => called.has(ask.order.tag))) this.#wrong('a request reached the model');
    this.figures.errors = errors.length;
    this.figures.p95Ms = p95;
    this.figures.slowestMs = took.at(-1) ?? 0;
  }

  async #untilBack(gateways: readonly string[]): Promise<number> {
    const sinceMs = Date.now();
    for (const gateway of gateways) {
      while ((await this.#probe(gateway)).status !== 200) {
        if (Date.now() - sinceMs > GIVEN_UP_MS) break;
        await pause(20);
      }
    }
    const tookMs = Date.now() - sinceMs;
    if (tookMs > BACK_WITHIN_MS) this.#wrong(`full service only after ${tookMs} ms`);
    return tookMs;
  }

  async #probe(gateway?: string, key?: Key): Promise<Seen> {
    const { world, random } = this.#options;
    const to = gateway ?? random.pick(world.gateways);
    const by = key ?? random.pick(random.pick(world.orgs).keys);
    const seen = await send(plainAsk(by, to, { tag: `probe-${this.#probes++}` }));
    this.seen.push(seen);
    return seen;
  }

  #wrong(text: string): void {
    this.violations.push(`${this.#options.name}: ${text}`);
  }
}
