import { pause } from '../world/random.ts';
import type { World } from '../world/world.ts';
import { type Live, readLive } from './live.ts';

const SAMPLE_EVERY_MS = 200;
/** A dead gateway must hold nothing this long after its last heartbeat. */
const FREE_WITHIN_MS = 15_000;

/** The limits of an organization that its live state is compared with. */
export interface LiveLimits {
  readonly slug: string;
  readonly most: {
    readonly atOnce: number;
    readonly requestsPerMonth: number;
    readonly tokensPerMonth: number;
  };
}

/**
 * Checks what must hold at every instant.
 * @param caps the requests at once of each key, by id
 */
export function liveViolations(org: LiveLimits, caps: ReadonlyMap<string, number>, live: Live): string[] {
  const found: string[] = [];
  const must = (holds: boolean, text: string) => void (holds || found.push(`${org.slug}: ${text}`));
  const { most } = org;
  must(live.inFlight === live.open, `${live.inFlight} slots counted, ${live.open} open records`);
  must(live.large === live.openLarge, `${live.large} large bodies counted, ${live.openLarge} open`);
  must(
    live.reserved === live.openReserved,
    `${live.reserved} tokens reserved, ${live.openReserved} by open records`,
  );
  must(live.inFlight <= most.atOnce, `${live.inFlight} in flight, at most ${most.atOnce}`);
  must(
    live.requests <= most.requestsPerMonth,
    `${live.requests} requests in the month of ${most.requestsPerMonth}`,
  );
  must(
    live.charged + live.reserved <= most.tokensPerMonth,
    `${live.charged} + ${live.reserved} tokens in the month of ${most.tokensPerMonth}`,
  );
  for (const [id, counted, open] of Array.isArray(live.keys) ? live.keys : []) {
    const cap = caps.get(id) ?? 0;
    must(counted === open, `${id}: ${counted} slots counted, ${open} open records`);
    must(counted <= cap, `${id}: ${counted} in flight, at most ${cap}`);
  }
  return found;
}

export interface Holder {
  readonly instance: string;
  readonly held: number;
  /** Unix ms of its last heartbeat. 0: none. */
  readonly beatMs: number;
}

/**
 * Finds instances that hold something although they have been silent for too long.
 * @param backendUpSinceMs since when Redis and a limiter have been up: nothing can be freed before
 */
export function heldTooLong(holders: readonly Holder[], nowMs: number, backendUpSinceMs: number): string[] {
  return holders
    .filter(({ held, beatMs }) => held > 0 && nowMs - Math.max(beatMs, backendUpSinceMs) > FREE_WITHIN_MS)
    .map(({ instance, held }) => `${instance}: silent for more than ${FREE_WITHIN_MS} ms, holds ${held}`);
}

/** Checks the live state regularly while Redis is up. */
export class Sampler {
  readonly violations = new Set<string>();
  samples = 0;
  readonly #world: World;
  #running = true;
  /** Since when Redis has answered without interruption. */
  #redisSinceMs = Number.POSITIVE_INFINITY;
  readonly #done: Promise<void>;

  constructor(world: World) {
    this.#world = world;
    this.#done = this.#run();
  }

  async stop(): Promise<string[]> {
    this.#running = false;
    await this.#done;
    return [...this.violations];
  }

  async #run(): Promise<void> {
    while (this.#running) {
      try {
        await this.#look();
      } catch {
        // Redis is unavailable.
        this.#redisSinceMs = Number.POSITIVE_INFINITY;
      }
      await pause(SAMPLE_EVERY_MS);
    }
  }

  async #look(): Promise<void> {
    for (const org of this.#world.orgs) {
      const live = await readLive(this.#world, org);
      this.#redisSinceMs = Math.min(this.#redisSinceMs, Date.now());
      this.samples++;
      for (const text of liveViolations(org, this.#world.caps, live)) this.violations.add(text);
      const holders = await this.#holders(live.instances);
      for (const text of heldTooLong(holders, Date.now(), this.#backendUpSinceMs()))
        this.violations.add(`${org.slug}: ${text}`);
    }
  }

  async #holders(instances: Live['instances']): Promise<Holder[]> {
    const { redis } = this.#world;
    return Promise.all(
      Object.entries(instances).map(async ([instance, held]) => {
        const beat = Number(await redis.hget(`tg:{${instance}}:lease`, 'beat_ms'));
        // Leases use limiter time.
        return { instance, held, beatMs: beat === 0 ? 0 : beat - this.#world.nowMs() + Date.now() };
      }),
    );
  }

  #backendUpSinceMs(): number {
    const backs = this.#world.backendKills.map(({ atMs, backMs }) => backMs || atMs + FREE_WITHIN_MS);
    return Math.max(this.#redisSinceMs, this.#world.reapingPossibleSinceMs, ...backs);
  }
}
