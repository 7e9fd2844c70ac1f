import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import { Load } from '../load/load.ts';
import type { Limits, Org } from '../world/org.ts';
import { makeOrg, setLimits } from '../world/orgs.ts';
import type { Random } from '../world/random.ts';
import { pause } from '../world/random.ts';
import type { World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const LONG_ROUNDS = 15;
/** A slow machine makes fewer rounds. */
const LONG_MS = 300_000;
/** Long enough for a whole flood to be decided meanwhile, even on a busy machine. */
const HELD_MS = 8_000;
/** How many requests are sent at once after each change. */
const REQUESTS = 60;
const ROOMY: Limits = {
  requestsPerMonth: 1_000_000,
  tokensPerMonth: 1e12,
  requestsPerMinute: 100_000,
  atOnce: 1_000,
};

/**
 * A lowered or raised plan is in force for the next request, through either gateway. Exactly as
 * many requests are answered as now fit.
 */
export const plans: Scenario = {
  id: 'plans',
  name: 'plan lowered and raised under load, two gateways',
  laws: '1, 4, 7',
  unit: 'changes',
  run: (random, size) =>
    underAttack({}, async (world) => {
      const others = await makeOrg(world, { keys: [{}, {}] });
      const load = new Load(world, random, { clients: 6, hangUps: 0.1, orgs: [others] });
      const changes = new Changes(world, random);
      const endMs = Date.now() + LONG_MS;
      for (let i = 0; i < (size === 'short' ? 2 : LONG_ROUNDS) && Date.now() < endMs; i++) {
        const org = await makeOrg(world, { ...ROOMY, keys: [{}, {}], models: ['tide'] });
        await changes.ofMonth(org, 'requestsPerMonth', 'quota_exceeded');
        await changes.ofMonth(org, 'requestsPerMinute', 'rate_limit_exceeded');
        await changes.ofSlots(org);
      }
      const seen = [...changes.seen, ...(await load.stop())];
      const unquiet = await untilQuiet(world);
      const { violations, counts } = await audit(world, seen);
      return {
        violations: [...changes.violations, ...unquiet, ...violations],
        trials: changes.made,
        notes: JSON.stringify(counts),
      };
    }),
};

class Changes {
  readonly seen: Seen[] = [];
  readonly violations: string[] = [];
  made = 0;
  readonly #world: World;
  readonly #random: Random;
  #sent = 0;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
  }

  /**
   * Changes limits that count what was used, to a little more or less than that. What was used
   * stays used.
   */
  async ofMonth(org: Org, limit: 'requestsPerMonth' | 'requestsPerMinute', code: string): Promise<void> {
    let used = this.seen.filter(({ ask, status }) => ask.key.org === org && status === 200).length;
    if (limit === 'requestsPerMinute') used += org.listings;
    for (const change of ['raised', 'lowered', 'raised'] as const) {
      const more = change === 'raised' ? this.#random.whole(1, 30) : -Math.min(used, 5);
      await this.#change(org, { ...ROOMY, [limit]: Math.max(1, used + more) });
      const answered = await this.#flood(org, code);
      used += answered;
      this.#expect(`${limit} ${change}`, answered, Math.max(0, more));
    }
  }

  /** Long answers occupy the slots while the plan changes. */
  async ofSlots(org: Org): Promise<void> {
    await this.#change(org, ROOMY);
    const held = this.#random.whole(3, 8);
    const holding = this.#hold(org, held);
    while (this.#world.witness.inFlightOf(org.id) < held) await pause(10);
    await this.#change(org, { ...ROOMY, atOnce: held - 1 });
    this.#expect('atOnce lowered', await this.#flood(org, 'rate_limit_exceeded'), 0);
    const more = this.#random.whole(1, 8);
    await this.#change(org, { ...ROOMY, atOnce: held + more });
    const raised = this.#hold(org, REQUESTS);
    const refused = (await Promise.all(raised)).filter(({ status }) => status === 429).length;
    this.#expect('atOnce raised', REQUESTS - refused, more);
    await Promise.all(holding);
  }

  async #change(org: Org, limits: Limits): Promise<void> {
    await setLimits(this.#world, org, limits);
    this.made++;
  }

  #hold(org: Org, count: number): Promise<Seen>[] {
    return Array.from({ length: count }, () => this.#send(org, HELD_MS));
  }

  /** Returns how many are answered. The others must be refused with `code`. */
  async #flood(org: Org, code: string): Promise<number> {
    const seen = await Promise.all(Array.from({ length: REQUESTS }, () => this.#send(org, 0)));
    const answered = seen.filter(({ status }) => status === 200).length;
    const refused = seen.filter((one) => one.code === code).length;
    if (answered + refused !== seen.length)
      this.violations.push(
        `${seen.length - answered - refused} of ${seen.length} neither answered nor ${code}`,
      );
    return answered;
  }

  async #send(org: Org, headMs: number): Promise<Seen> {
    const { gateways } = this.#world;
    const tag = `change-${this.#sent++}`;
    const seen = await send(
      plainAsk(this.#random.pick(org.keys), this.#random.pick(gateways), { tag, headMs }),
    );
    this.seen.push(seen);
    return seen;
  }

  #expect(change: string, answered: number, fits: number): void {
    if (answered !== fits) this.violations.push(`${change}: ${answered} answered, ${fits} fit`);
  }
}
