import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import type { Random } from '../world/random.ts';
import { CONTEXT_TOKENS, type OrgWish, type World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { within } from './within.ts';

/** Requests at once on a plan that fits exactly K: K are answered, whichever gateway and limiter they take. */
export const exactQuota: Scenario = {
  name: 'quota that fits exactly K, two gateways',
  laws: '1, 7',
  unit: 'races',
  run: (random, size) =>
    within({}, async (world) => {
      const races = size === 'short' ? 2 : 20;
      const violations: string[] = [];
      const all: Seen[] = [];
      for (let race = 0; race < races; race++) {
        const fits = random.whole(1, 60);
        const wish = random.chance(0.5)
          ? { requestsMonth: fits }
          : { tokensMonth: fits * CONTEXT_TOKENS + 999 };
        const seen = await raceFor(world, random, wish, race, size === 'short' ? 150 : 500);
        all.push(...seen);
        const answered = seen.filter(({ status }) => status === 200).length;
        const refused = seen.filter(({ code }) => code === 'quota_exceeded').length;
        if (answered !== fits || refused !== seen.length - fits)
          violations.push(
            `race ${race}: ${answered} answered and ${refused} refused of ${seen.length}, ${fits} fit; ${codesOf(seen)}`,
          );
      }
      const unquiet = await untilQuiet(world);
      const audited = await audit(world, all);
      return { violations: [...violations, ...unquiet, ...audited.violations], trials: races };
    }),
};

const codesOf = (seen: readonly Seen[]): string =>
  [...new Set(seen.map(({ status, code }) => `${status} ${code ?? ''}`))].join(', ');

async function raceFor(
  world: World,
  random: Random,
  wish: Partial<OrgWish>,
  race: number,
  requests: number,
): Promise<Seen[]> {
  const org = await world.makeOrg({ ...wish, keys: [{}, {}, {}, {}], models: ['tide'] });
  const asks = Array.from({ length: requests }, (_, i) =>
    // Without usage the whole reservation stays charged, so that tokens fit exactly K as well.
    plainAsk(random.pick(org.keys), random.pick(world.gateways), { tag: `${race}-${i}`, usage: false }),
  );
  return Promise.all(asks.map(send));
}
