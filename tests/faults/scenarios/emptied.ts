import { readLive } from '../audit/live.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { readRows } from '../audit/rows.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import { Load } from '../load/load.ts';
import { pause, type Random } from '../world/random.ts';
import type { Key, World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { within } from './within.ts';

/** Redis loses everything under load: what is in Postgres is back before anything is admitted, and nothing stays stuck. */
export const emptied: Scenario = {
  name: 'Redis emptied under load (FLUSHALL)',
  laws: '1, 3, 4',
  unit: 'times',
  run: (random, size) =>
    within({ env: { gateway: { TRUSTED_PROXIES: '1' } } }, async (world) => {
      const org = await world.makeOrg({ atOnce: 12, keys: [{ atOnce: 4 }, { atOnce: 4 }, { atOnce: 4 }] });
      const revoked = await world.makeKey(org, {});
      await world.revoke(revoked);
      const violations: string[] = [];
      const times = size === 'short' ? 1 : 4;
      const load = new Load(world, random, { clients: 14, hangUps: 0.1, longestMs: 1_000 });
      org.keys.pop();
      for (let i = 0; i < times; i++) {
        await pause(random.whole(1_000, 3_000));
        await world.redis.flushall();
        violations.push(...(await stillRevoked(world, random, revoked, i)));
        await pause(random.whole(100, 400));
        // What it admits between the loss and its next heartbeat must be found when it dies.
        await world.kill(random.pick(['gateway', 'gateway-2']));
      }
      const seen = await load.stop();
      violations.push(...(await untilQuiet(world)));
      return {
        violations: [...violations, ...(await undercounts(world))],
        trials: times,
        notes: await lost(world, seen),
      };
    }),
};

async function stillRevoked(world: World, random: Random, key: Key, round: number): Promise<string[]> {
  const found: string[] = [];
  for (const gateway of world.gateways) {
    const ask = {
      ...plainAsk(key, gateway, { tag: `revoked-${round}` }),
      from: `10.9.8.${random.whole(0, 255)}`,
    };
    const { status, code } = await send(ask);
    if (code !== 'invalid_api_key') found.push(`a revoked key after the loss: ${status} ${code}`);
  }
  return found;
}

/** On the side of the caps: the ledger never has less than Postgres. */
async function undercounts(world: World): Promise<string[]> {
  const rows = await readRows(world);
  const found: string[] = [];
  for (const org of world.orgs) {
    const ofOrg = rows.filter((row) => row.org === org.id);
    const charged = ofOrg.reduce((sum, row) => sum + row.charged, 0);
    const live = await readLive(world, org);
    if (live.requests < ofOrg.length || live.charged < charged)
      found.push(
        `ledger ${live.requests} requests, ${live.charged} tokens; rows ${ofOrg.length}, ${charged}`,
      );
  }
  return found;
}

async function lost(world: World, seen: readonly Seen[]): Promise<string> {
  const rows = new Set((await readRows(world)).map(({ id }) => id));
  const unwritten = seen.filter(({ status, id }) => status === 200 && id !== null && !rows.has(id)).length;
  const { calls, violations } = world.witness;
  return `${calls.length} calls, ${rows.size} rows, ${unwritten} answered without a row; at the model: ${violations.length} times above a cap`;
}
