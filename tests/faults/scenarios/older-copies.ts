import { eventually } from '@tidegate/testing';
import { readLive } from '../audit/live.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import type { Key, Org } from '../world/org.ts';
import { makeKey, makeOrg, revoke, setLimits } from '../world/orgs.ts';
import type { Random } from '../world/random.ts';
import { startStores } from '../world/stores.ts';
import type { World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const QUOTA = 60;
const [YESTERDAY, TODAY, BETWEEN] = [20, 25, 4] as const;
const SERVICES = ['limiter', 'limiter-2', 'metering', 'runner', 'gateway', 'gateway-2'];
const FOUND_MS = { timeoutMs: 60_000, intervalMs: 200 };

/**
 * First Redis, then Postgres is replaced by a copy of its files from the day before, beside the
 * other store as it is now, and all services are started again. By the model's own count the
 * month's quota lets exactly as many requests through as if nothing had happened. Nobody gets in
 * whose key was revoked, or is not in Postgres.
 */
export const olderCopies: Scenario = {
  id: 'older-copies',
  name: 'Redis, then Postgres replaced by a copy of the day before',
  laws: '1, 4',
  unit: 'copies',
  async run(random) {
    const stores = await startStores();
    const options = {
      databaseUrl: stores.postgres.url,
      redisUrl: stores.redis.url,
      env: { gateway: { TRUSTED_PROXIES: '1' } },
    };
    try {
      return await underAttack(options, async (world) => {
        const violations: string[] = [];
        const must = (holds: boolean, what: string) => {
          if (!holds) violations.push(what);
        };
        const org = await makeOrg(world, { requestsPerMonth: QUOTA, keys: [{}, {}] });
        const [key, revoked] = org.keys as [Key, Key];
        const asked = (of: Key, times: number) => askAll(world, random, of, times);
        await asked(key, YESTERDAY - 1);
        await asked(revoked, 1);
        violations.push(...(await untilQuiet(world)));
        await stores.redis.copy();
        await stores.postgres.copy();

        await asked(key, TODAY);
        await revoke(world, revoked);
        const added = await makeKey(world, org, {});
        await asked(added, 1);
        await setLimits(world, org, { ...org.most, atOnce: org.most.atOnce - 1 });
        violations.push(...(await untilQuiet(world)));

        await stores.redis.putCopyBack();
        await startAgain(world);
        const used = YESTERDAY + TODAY + 1;
        await eventually(async () => (await readLive(world, org)).requests >= used, FOUND_MS);
        must(await isRefused(world, random, revoked), 'a revoked key works beside an older Redis');
        must((await asked(added, BETWEEN)) === BETWEEN, 'a key that only Postgres has does not work');
        violations.push(...(await untilQuiet(world)));

        await stores.postgres.putCopyBack();
        await startAgain(world);
        const stateOf = (of: Key) => world.redis.hget(`tg:{${org.tag}}:key:${of.id}`, 'state');
        await eventually(async () => (await stateOf(added)) === 'revoked', FOUND_MS);
        const atOnce = await world.redis.hget(`tg:{${org.tag}}:org`, 'at_once');
        must(atOnce === String(org.most.atOnce), `at once ${atOnce}: not the limit of Postgres`);
        must(await isRefused(world, random, revoked), 'a revoked key works beside an older Postgres');
        must(await isRefused(world, random, added), 'a key works that only Redis has');
        const lost = await lostRequests(world, org);
        must(lost === TODAY + 1 + BETWEEN, `${lost} requests are in Redis alone`);
        const left = QUOTA - used - BETWEEN;
        const last = await asked(key, left + 5);
        must(last === left, `${last} more answered, ${left} were left of the month`);
        const calls = world.witness.calls.length;
        must(calls === QUOTA, `the model counts ${calls} calls, the quota is ${QUOTA}`);
        return { violations, trials: 2, notes: `${calls} calls, ${lost} requests lost and counted` };
      });
    } finally {
      await stores.stop();
    }
  },
};

/** Resolves to how many were answered. */
async function askAll(world: World, random: Random, key: Key, times: number): Promise<number> {
  let answered = 0;
  for (let i = 0; i < times; i++) {
    const { status } = await ask(world, random, key);
    if (status === 200) answered++;
  }
  return answered;
}

async function isRefused(world: World, random: Random, key: Key): Promise<boolean> {
  return (await ask(world, random, key)).code === 'invalid_api_key';
}

const ask = (world: World, random: Random, key: Key): Promise<Seen> =>
  send({
    ...plainAsk(key, random.pick(world.gateways), { tag: `copies-${random.whole(0, 2 ** 31)}` }),
    from: `10.9.${random.whole(0, 255)}.${random.whole(0, 255)}`,
  });

async function startAgain(world: World): Promise<void> {
  await Promise.all(SERVICES.map((name) => world.kill(name)));
}

/** How many more requests of the month Redis has than Postgres, as `ctl doctor` reports. */
async function lostRequests(world: World, org: Org): Promise<number> {
  const { requests } = await readLive(world, org);
  const total = await world.db.monthTotal.findFirst({ where: { orgId: org.id } });
  return requests - Number(total?.requests ?? 0);
}
