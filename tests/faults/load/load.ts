import type { Org } from '../world/org.ts';
import { pause, type Random } from '../world/random.ts';
import type { World } from '../world/world.ts';
import { type Ask, type HangUp, type Seen, send } from './ask.ts';

const HANG_UPS: readonly HangUp[] = ['body', 'sent', 'waiting', 'streaming', 'last'];
/** The pause after a refusal or a lost connection. */
const BREATH_MS = 40;

export interface LoadOptions {
  readonly clients: number;
  /** The share of requests whose client hangs up. */
  readonly hangUps: number;
  readonly orgs?: readonly Org[];
  /** The longest time an answer takes. */
  readonly longestMs?: number;
  /**
   * A client's longest pause after an answer. Default: none. A pause keeps the machine loaded but
   * not overloaded.
   */
  readonly restMs?: number;
}

/** Clients that send one request after another until `stop`. */
export class Load {
  readonly seen: Seen[] = [];
  readonly #world: World;
  readonly #options: LoadOptions;
  readonly #random: Random;
  #running = true;
  #sent = 0;
  readonly #name: number;
  readonly #clients: Promise<void>[];

  constructor(world: World, random: Random, options: LoadOptions) {
    this.#world = world;
    this.#random = random;
    this.#options = options;
    this.#name = random.whole(0, 2 ** 31);
    this.#clients = Array.from({ length: options.clients }, () => this.#client());
  }

  /** Stops the clients. Resolves when all requests have ended. */
  async stop(): Promise<readonly Seen[]> {
    this.#running = false;
    await Promise.all(this.#clients);
    return this.seen;
  }

  async #client(): Promise<void> {
    await pause(this.#random.whole(0, 200));
    while (this.#running) {
      const seen = await send(this.#next());
      this.seen.push(seen);
      await pause(seen.status === 200 ? this.#random.whole(0, this.#options.restMs ?? 0) : BREATH_MS);
    }
  }

  #next(): Ask {
    const random = this.#random;
    const { hangUps, longestMs = 1_500 } = this.#options;
    const org = random.pick(this.#options.orgs ?? this.#world.orgs);
    const key = random.pick(org.keys);
    const stream = random.chance(0.5);
    const tokens = random.whole(1, 20);
    const slow = random.chance(0.3);
    const hangUp = random.chance(hangUps) ? random.pick(HANG_UPS) : null;
    return {
      key,
      model: random.pick([...org.models.keys()]),
      gateway: random.pick(this.#world.gateways),
      stream,
      order: {
        tag: `${this.#name}-${this.#sent++}`,
        key: key.id,
        org: org.id,
        headMs: random.whole(0, 30),
        tokens,
        gapMs: slow ? Math.floor(random.whole(0, longestMs) / tokens) : random.whole(0, 3),
        usage: random.chance(0.85),
      },
      hangUp,
      hangUpAfterMs: random.whole(0, 120),
    };
  }
}
