import { readFileSync } from 'node:fs';
import { pause } from '../world/random.ts';
import type { Org, World } from '../world/world.ts';

const SCRIPT = readFileSync(new URL('./live.lua', import.meta.url), 'utf8');
const SAMPLE_EVERY_MS = 200;

/** What Redis holds of one organization at one instant. */
export interface Live {
  /** Open records, and what those of them that are reserved add up to. */
  readonly open: number;
  readonly openReserved: number;
  readonly openLarge: number;
  /** Id, slots counted, open records. */
  readonly keys: readonly (readonly [string, number, number])[] | Record<string, never>;
  readonly inFlight: number;
  readonly large: number;
  readonly requests: number;
  readonly charged: number;
  readonly reserved: number;
  readonly outbox: number;
}

export const thisMonth = (): string => new Date().toISOString().slice(0, 7);

export async function readLive({ redis }: World, org: Org): Promise<Live> {
  const prefix = `tg:{${org.tag}}:`;
  return JSON.parse(String(await redis.eval(SCRIPT, 1, `${prefix}org`, prefix, thisMonth())));
}

/** What must hold at every instant, whatever is going on. */
export function liveViolations(org: Org, live: Live): string[] {
  const found: string[] = [];
  const must = (holds: boolean, text: string) => void (holds || found.push(`${org.slug}: ${text}`));
  must(live.inFlight === live.open, `${live.inFlight} slots counted, ${live.open} open records`);
  must(live.large === live.openLarge, `${live.large} large bodies counted, ${live.openLarge} open`);
  must(
    live.reserved === live.openReserved,
    `${live.reserved} tokens reserved, ${live.openReserved} by open records`,
  );
  must(live.inFlight <= org.atOnce, `${live.inFlight} in flight, at most ${org.atOnce}`);
  must(live.requests <= org.requestsMonth, `${live.requests} requests in the month of ${org.requestsMonth}`);
  must(
    live.charged + live.reserved <= org.tokensMonth,
    `${live.charged} + ${live.reserved} tokens in the month of ${org.tokensMonth}`,
  );
  for (const [id, counted, open] of Array.isArray(live.keys) ? live.keys : []) {
    const cap = org.keys.find((key) => key.id === id)?.atOnce ?? 0;
    must(counted === open, `${id}: ${counted} slots counted, ${open} open records`);
    must(counted <= cap, `${id}: ${counted} in flight, at most ${cap}`);
  }
  return found;
}

/** Looks again and again, while Redis is there. */
export class Sampler {
  readonly violations = new Set<string>();
  samples = 0;
  #running = true;
  readonly #done: Promise<void>;

  constructor(world: World) {
    this.#done = this.#run(world);
  }

  async stop(): Promise<string[]> {
    this.#running = false;
    await this.#done;
    return [...this.violations];
  }

  async #run(world: World): Promise<void> {
    while (this.#running) {
      for (const org of world.orgs) {
        try {
          const live = await readLive(world, org);
          this.samples++;
          for (const text of liveViolations(org, live)) this.violations.add(text);
        } catch {
          // Redis is away.
        }
      }
      await pause(SAMPLE_EVERY_MS);
    }
  }
}
