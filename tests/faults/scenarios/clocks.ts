import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { readRows } from '../audit/rows.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import { Load } from '../load/load.ts';
import type { Org } from '../world/org.ts';
import { makeKey, makeOrg } from '../world/orgs.ts';
import { pause, type Random } from '../world/random.ts';
import type { World } from '../world/world.ts';
import { fiveOrgs } from './kills.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const LIBRARIES = ['x86_64', 'aarch64'].map(
  (machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`,
);
const GATEWAYS = ['gateway', 'gateway-2'] as const;
const LIMITERS = ['limiter', 'limiter-2'] as const;
/** Each of these has its own clock. */
const CLOCKS = [...GATEWAYS, ...LIMITERS, 'metering'] as const;
const HOUR_S = 3_600;
/** Longer than request rows are kept. */
const FAR_S = 60 * 24 * HOUR_S;
const BETWEEN_MS = 1_500;
/** The longest time from a request's reservation to the model's record of it. */
const APART_MS = 20_000;

/**
 * The clocks of gateways, limiters and metering jump by up to ten days under load, each on its own.
 * Metering's jumps once by sixty days. Gateways are killed meanwhile. Windows, months, expiry,
 * leases and the times in rows stay right, because they come from Redis' clock.
 */
export const clocks: Scenario = {
  id: 'clocks',
  name: 'clocks of gateways, limiters and metering jump, each by itself',
  laws: '1, 2, 3, 4',
  unit: 'jumps',
  async run(random, size) {
    const library = LIBRARIES.find((path) => existsSync(path));
    if (!library) throw new Error('needs libfaketime: apt-get install faketime');
    const dir = mkdtempSync(join(tmpdir(), 'tidegate-clocks-'));
    const set = (name: string, offsetS: number) =>
      writeFileSync(join(dir, name), `${offsetS < 0 ? '' : '+'}${offsetS}\n`);
    const envOf = (name: string) => ({
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: join(dir, name),
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    });
    for (const name of CLOCKS) set(name, 0);
    const env = Object.fromEntries(CLOCKS.map((name) => [name, envOf(name)]));
    try {
      return await underAttack({ env }, (world) => jumping(world, random, size === 'short' ? 4 : 60, set));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};

async function jumping(
  world: World,
  random: Random,
  jumps: number,
  set: (name: string, offsetS: number) => void,
) {
  await fiveOrgs(world, 4);
  const org = await makeOrg(world, { keys: [], models: ['tide'] });
  const violations: string[] = [];
  const seen: Seen[] = [];
  const load = new Load(world, random, { clients: 16, hangUps: 0.1, restMs: 150 });
  const jump = (name: string) => set(name, random.whole(-240, 240) * HOUR_S);
  for (const name of LIMITERS) jump(name);
  const far = random.whole(1, jumps - 1);
  for (let i = 0; i < jumps; i++) {
    jump(random.pick(CLOCKS));
    if (i === far) await runMeteringFarAhead(world, set);
    await pause(BETWEEN_MS);
    if (i % 2 === 1) await world.kill(random.pick(GATEWAYS));
    const some = await todaysKey(world, org, i);
    seen.push(...some);
    for (const { status, code } of some)
      if (status !== 200) violations.push(`a key that expires today: ${status} ${code}`);
  }
  seen.push(...(await load.stop()));
  // The clocks of gateways and limiters stay wrong. What the dead left is freed all the same.
  // Metering's is corrected, because it times its retries by its own clock.
  set('metering', 0);
  const unquiet = await untilQuiet(world);
  const audited = await audit(world, seen);
  violations.push(...unquiet, ...audited.violations, ...(await timesOff(world, seen)));
  return { violations, trials: jumps, notes: JSON.stringify(audited.counts) };
}

/**
 * Restarts metering with a clock so far ahead that all rows look expired, and lets it do its
 * chores.
 */
async function runMeteringFarAhead(
  world: World,
  set: (name: string, offsetS: number) => void,
): Promise<void> {
  set('metering', FAR_S);
  await world.kill('metering');
}

/** Sends one request through each gateway, with a key whose last day is today. */
async function todaysKey(world: World, org: Org, round: number): Promise<Seen[]> {
  const today = new Date().toISOString().slice(0, 10);
  const key = org.keys[1] ?? (await makeKey(world, org, { expiresOn: today }));
  return Promise.all(
    world.gateways.map((gateway, i) => send(plainAsk(key, gateway, { tag: `today-${round}-${i}` }))),
  );
}

/** Finds rows whose time is not when the model was called. The model's clock is right. */
async function timesOff(world: World, seen: readonly Seen[]): Promise<string[]> {
  const rows = new Map((await readRows(world)).map((row) => [row.id, row]));
  const calls = new Map(world.witness.calls.map((call) => [call.order.tag, call]));
  return seen.flatMap(({ id, ask }) => {
    const row = rows.get(id ?? '');
    const call = calls.get(ask.order.tag);
    if (!row || !call || Math.abs(row.atMs - call.atMs) < APART_MS) return [];
    return [`${id}: the model was called ${call.atMs - row.atMs} ms after its row's time`];
  });
}
