import { audit } from '../audit/audit.ts';
import { monthOf } from '../audit/live.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { readRows } from '../audit/rows.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import { Load } from '../load/load.ts';
import type { Key, Org } from '../world/org.ts';
import { makeKey, makeOrg } from '../world/orgs.ts';
import { pause, type Random } from '../world/random.ts';
import type { World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

/**
 * The time from the stack's start to midnight: enough to create organizations and to start the
 * load.
 */
const AHEAD_MS = 70_000;
const AFTER_MS = 8_000;
const REQUESTS_A_MONTH = 20;
/** The largest difference between a client's clock and the limiter's, on one machine. */
const SKEW_MS = 20;

/**
 * The last midnight (UTC) of a month passes under load, by a clock that the test sets. A key that
 * expires that day is refused from then on and not before. The month's quota is available again.
 * Streams that are under way are charged to the month in which they were admitted.
 */
export const midnight: Scenario = {
  id: 'midnight',
  name: 'midnight UTC at the end of a month, streams under way',
  laws: '1, 2, 4',
  unit: 'requests around it',
  run(random) {
    const now = new Date();
    const midnightMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    const clockOffsetMs = midnightMs - Date.now() - AHEAD_MS;
    return underAttack({ clockOffsetMs, env: { gateway: { TRUSTED_PROXIES: '1' } } }, (world) =>
      new Midnight(world, random, midnightMs).run(),
    );
  },
};

class Midnight {
  readonly #world: World;
  readonly #random: Random;
  readonly #midnightMs: number;
  readonly #seen: Seen[] = [];
  readonly #violations: string[] = [];
  #sent = 0;

  constructor(world: World, random: Random, midnightMs: number) {
    this.#world = world;
    this.#random = random;
    this.#midnightMs = midnightMs;
  }

  async run() {
    const world = this.#world;
    const lastDay = new Date(this.#midnightMs - 1).toISOString().slice(0, 10);
    const others = await makeOrg(world, { keys: [{}, {}] });
    const org = await makeOrg(world, { keys: [{}], models: ['tide'] });
    const full = await makeOrg(world, { requestsPerMonth: REQUESTS_A_MONTH, keys: [{}], models: ['tide'] });
    const expiring = await makeKey(world, org, { expiresOn: lastDay });
    if (world.nowMs() > this.#midnightMs - 10_000) throw new Error('midnight came before all was ready');
    const load = new Load(world, this.#random, { clients: 6, hangUps: 0.1, orgs: [others] });
    const streams = this.#streamsAcross(org);
    await Promise.all([this.#expires(expiring), this.#quotaReturns(full)]);
    await Promise.all(streams);
    this.#seen.push(...(await load.stop()));
    const unquiet = await untilQuiet(world);
    await this.#monthsOfAdmission(org);
    const { violations, counts } = await audit(world, this.#seen);
    return {
      violations: [...this.#violations, ...unquiet, ...violations],
      trials: this.#seen.length,
      notes: JSON.stringify(counts),
    };
  }

  /** Starts streams that begin before midnight and end after it. */
  #streamsAcross(org: Org): Promise<void>[] {
    return Array.from({ length: 20 }, async () => {
      const startMs = this.#midnightMs - this.#random.whole(500, 3_000);
      await pause(startMs - this.#world.nowMs());
      await this.#send(org.keys[0] as Key, { stream: true, tokens: 20, gapMs: 300 });
    });
  }

  /**
   * Sends one request after the other, through either gateway, each from its own address: fewer
   * than the key's 6,000 a minute, however fast the machine is.
   */
  async #expires(key: Key): Promise<void> {
    while (this.#world.nowMs() < this.#midnightMs + AFTER_MS) {
      const seen = await this.#send(key, {});
      const [startMs, endMs] = [seen.startedMs, seen.endedMs].map((ms) => this.#limiterMs(ms)) as [
        number,
        number,
      ];
      if (startMs > this.#midnightMs + SKEW_MS && seen.code !== 'invalid_api_key')
        this.#violations.push(
          `${startMs - this.#midnightMs} ms after its expiry: ${seen.status} ${seen.code}`,
        );
      if (endMs < this.#midnightMs - SKEW_MS && seen.status !== 200)
        this.#violations.push(
          `${this.#midnightMs - endMs} ms before its expiry: ${seen.status} ${seen.code}`,
        );
      await pause(10);
    }
  }

  /**
   * Uses up a month's quota. In the next month, exactly as many requests fit as the plan says, from
   * its first instant.
   */
  async #quotaReturns({ keys: [key] }: Org): Promise<void> {
    const answered = { before: 0, after: 0 };
    while (this.#world.nowMs() < this.#midnightMs + AFTER_MS) {
      const seen = await this.#send(key as Key, {});
      const startMs = this.#limiterMs(seen.startedMs);
      const endMs = this.#limiterMs(seen.endedMs);
      if (endMs < this.#midnightMs - SKEW_MS && seen.status === 200) answered.before++;
      if (startMs > this.#midnightMs + SKEW_MS && seen.status === 200) answered.after++;
      if (seen.status !== 200 && seen.code !== 'quota_exceeded')
        this.#violations.push(`quota around midnight: ${seen.status} ${seen.code}`);
      await pause(20);
    }
    // At most one request began before midnight and was decided after it.
    const after = answered.after === REQUESTS_A_MONTH || answered.after === REQUESTS_A_MONTH - 1;
    if (answered.before !== REQUESTS_A_MONTH || !after)
      this.#violations.push(`of ${REQUESTS_A_MONTH} a month ${JSON.stringify(answered)} were answered`);
  }

  /** Checks that streams were charged to the month that ended, although they ended in the next. */
  async #monthsOfAdmission(org: Org): Promise<void> {
    const month = monthOf(this.#midnightMs - 1);
    const streams = this.#seen.filter(({ ask }) => ask.stream && ask.key.org === org);
    const rows = new Map((await readRows(this.#world)).map((row) => [row.id, row]));
    const across = streams.filter(({ endedMs }) => this.#limiterMs(endedMs) > this.#midnightMs);
    if (across.length === 0) this.#violations.push('no stream was under way at midnight');
    for (const { id, complete } of across) {
      const row = rows.get(id ?? '');
      if (!complete || !row?.answered || monthOf(row.atMs) !== month)
        this.#violations.push(`a stream across midnight: complete ${complete}, ${JSON.stringify(row)}`);
    }
  }

  async #send(key: Key, { stream = false, ...order }: { stream?: boolean; tokens?: number; gapMs?: number }) {
    const random = this.#random;
    const tag = `midnight-${this.#sent++}`;
    const seen = await send({
      ...plainAsk(key, random.pick(this.#world.gateways), { tag, ...order }),
      stream,
      from: `10.${random.whole(0, 255)}.${random.whole(0, 255)}.${random.whole(0, 255)}`,
    });
    this.#seen.push(seen);
    return seen;
  }

  /** Converts an instant of this process' clock to limiter time. */
  #limiterMs(ms: number): number {
    return ms + this.#world.nowMs() - Date.now();
  }
}
