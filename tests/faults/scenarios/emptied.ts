import { eventually } from '@tidegate/testing';
import { readLive } from '../audit/live.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { readRows } from '../audit/rows.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import { Load } from '../load/load.ts';
import type { Key, Org } from '../world/org.ts';
import { CONTEXT_TOKENS, makeKey, makeOrg, revoke } from '../world/orgs.ts';
import { pause, type Random } from '../world/random.ts';
import type { World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const WINDOW_MS = 60_000;
/** The longest time between an admission and the model's record of its call. */
const APART_MS = 1_000;
const LONG_TIMES = 4;
/**
 * By then every organization must admit again: the loss is noticed within seconds, and recovery
 * takes a minute.
 */
const RECOVERED_MS = 90_000;

/**
 * Redis loses everything under load, and a gateway dies soon after. By the model's own count no cap
 * is exceeded. Nothing is admitted before the data in Postgres is back. Nothing stays stuck.
 */
export const emptied: Scenario = {
  id: 'emptied',
  name: 'Redis emptied under load (FLUSHALL), then a gateway killed',
  laws: '1, 3, 4',
  unit: 'times',
  run: (random, size) =>
    underAttack({ env: { gateway: { TRUSTED_PROXIES: '1' } } }, async (world) => {
      const org = await makeOrg(world, { atOnce: 12, keys: [{ atOnce: 4 }, { atOnce: 4 }, { rpm: 60 }] });
      await makeOrg(world, { requestsPerMinute: 150, keys: [{}, {}] });
      await makeOrg(world, { requestsPerMonth: 400, atOnce: 6, keys: [{}, {}] });
      await makeOrg(world, { tokensPerMonth: 40 * CONTEXT_TOKENS, atOnce: 6, keys: [{}, {}] });
      const revoked = await makeKey(world, org, {});
      await revoke(world, revoked);
      org.keys.pop();
      const violations: string[] = [];
      const times = size === 'short' ? 1 : LONG_TIMES;
      const load = new Load(world, random, { clients: 14, hangUps: 0.1, longestMs: 1_000 });
      for (let i = 0; i < times; i++) {
        await pause(random.whole(3_000, 10_000));
        await world.redis.flushall();
        violations.push(...(await stillRevoked(world, random, revoked, i)));
        await pause(random.whole(100, 15_000));
        // What the gateway admits between the loss and its next heartbeat must be found when it
        // dies.
        await world.kill(random.pick(['gateway', 'gateway-2']));
        // Every other loss hits organizations that are still recovering from the previous one.
        if (i % 2 === 0 || i === times - 1) await allOpen(world);
      }
      await pause(random.whole(3_000, 10_000));
      const seen = await load.stop();
      violations.push(...(await untilQuiet(world)), ...world.witness.violations, ...aboveLimits(world));
      return {
        violations: [...violations, ...(await undercounts(world))],
        trials: times,
        notes: await lost(world, seen),
      };
    }),
};

async function allOpen(world: World): Promise<void> {
  const open = async () => {
    const lives = await Promise.all(world.orgs.map((org) => readLive(world, org)));
    return lives.every(({ opensMs, requests }) => opensMs < world.nowMs() && requests > 0);
  };
  await eventually(open, { timeoutMs: RECOVERED_MS, intervalMs: 200 });
}

async function stillRevoked(world: World, random: Random, key: Key, round: number): Promise<string[]> {
  const found: string[] = [];
  for (const gateway of world.gateways) {
    const ask = {
      ...plainAsk(key, gateway, { tag: `revoked-${round}` }),
      from: `10.9.8.${random.whole(0, 255)}`,
    };
    const { status, code } = await send(ask);
    if (status !== 500 && code !== 'invalid_api_key')
      found.push(`a revoked key after the loss: ${status} ${code}`);
  }
  return found;
}

/**
 * Checks requests a minute, and the month's requests and tokens, by the model's own count, because
 * rows may be missing.
 */
function aboveLimits(world: World): string[] {
  const found: string[] = [];
  const { calls } = world.witness;
  const minute = (name: string, limit: number, times: readonly number[]) =>
    times.forEach((atMs, i) => {
      const later = times[i + limit];
      if (later !== undefined && later - atMs < WINDOW_MS - APART_MS)
        found.push(`${name}: more than ${limit} calls in ${(later - atMs) / 1_000} s`);
    });
  for (const { id, slug, most, keys } of world.orgs) {
    const ofOrg = calls.filter(({ order }) => order.org === id);
    minute(
      slug,
      most.requestsPerMinute,
      ofOrg.map(({ atMs }) => atMs),
    );
    for (const key of keys) {
      const ofKey = ofOrg.filter(({ order }) => order.key === key.id);
      minute(
        key.id,
        key.rpm,
        ofKey.map(({ atMs }) => atMs),
      );
    }
    if (ofOrg.length > most.requestsPerMonth)
      found.push(`${slug}: ${ofOrg.length} calls, ${most.requestsPerMonth} a month`);
    const tokens = ofOrg
      .filter(({ answered, order }) => answered && order.usage)
      .reduce((sum, { number, order }) => sum + number + order.tokens, 0);
    if (tokens > most.tokensPerMonth) found.push(`${slug}: ${tokens} tokens, ${most.tokensPerMonth} a month`);
  }
  return found;
}

/** Checks that the ledger never has less than Postgres, so that caps hold. */
async function undercounts(world: World): Promise<string[]> {
  const rows = await readRows(world);
  const found: string[] = [];
  for (const org of world.orgs) {
    const ofOrg = rows.filter((row) => row.org === org.id);
    const charged = ofOrg.reduce((sum, row) => sum + row.charged, 0);
    const live = await liveOf(world, org);
    if (live.requests < ofOrg.length || live.charged < charged)
      found.push(
        `ledger ${live.requests} requests, ${live.charged} tokens; rows ${ofOrg.length}, ${charged}`,
      );
  }
  return found;
}

/**
 * Reads the ledger of an organization. If nobody has needed it since the loss, there is none yet,
 * and a request creates it.
 */
async function liveOf(world: World, org: Org) {
  const [key] = org.keys;
  const [gateway] = world.gateways;
  const live = await readLive(world, org);
  if (live.requests > 0 || !key || !gateway) return live;
  await send(plainAsk(key, gateway, { tag: `ledger-${org.slug}` }));
  return readLive(world, org);
}

async function lost(world: World, seen: readonly Seen[]): Promise<string> {
  const rows = new Set((await readRows(world)).map(({ id }) => id));
  const unwritten = seen.filter(({ status, id }) => status === 200 && id !== null && !rows.has(id)).length;
  return `${world.witness.calls.length} calls, ${rows.size} rows, ${unwritten} answered without a row`;
}
