import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { readRows } from '../audit/rows.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import { Load } from '../load/load.ts';
import type { Key } from '../world/org.ts';
import { makeKey, makeOrg, revoke } from '../world/orgs.ts';
import { pause, type Random } from '../world/random.ts';
import type { World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const CLIENTS = 6;
/** Requests after the revocation, for each key. */
const TRIES = 250;
/** An organization can have 50 keys that are not revoked. Revoked ones do not count. */
const LONG_KEYS = 40;
/** A slow machine revokes fewer keys. */
const LONG_MS = 300_000;

/** After a revocation has returned, no request of the key is admitted, through either gateway. */
export const revocation: Scenario = {
  id: 'revocation',
  name: 'revocation under load, two gateways',
  laws: '4',
  unit: 'requests after it',
  run: (random, size) =>
    underAttack({ env: { gateway: { TRUSTED_PROXIES: '1' } } }, async (world) => {
      const others = await makeOrg(world, { keys: [{}, {}] });
      const org = await makeOrg(world, { keys: [], models: ['tide'] });
      const load = new Load(world, random, { clients: 4, hangUps: 0.1, orgs: [others] });
      const violations: string[] = [];
      const all: Seen[] = [];
      const revokedMs = new Map<string, number>();
      let trials = 0;
      let errors = 0;
      const endMs = Date.now() + LONG_MS;
      for (let i = 0; i < (size === 'short' ? 3 : LONG_KEYS) && Date.now() < endMs; i++) {
        const key = await makeKey(world, org, {});
        const { before, after, atMs } = await revokeUnderLoad(world, random, key, i);
        revokedMs.set(key.id, atMs);
        all.push(...before, ...after);
        trials += after.length;
        // On an overloaded machine a gateway may give up on its limiter. Such an error admits
        // nothing.
        errors += after.filter(({ status }) => status === 500).length;
        for (const { status, code } of after)
          if (status !== 500 && code !== 'invalid_api_key')
            violations.push(`after revocation: ${status} ${code}`);
      }
      all.push(...(await load.stop()));
      const unquiet = await untilQuiet(world);
      for (const { id, key, atMs } of await readRows(world))
        if (atMs > (revokedMs.get(key) ?? Number.POSITIVE_INFINITY))
          violations.push(`${id}: reserved after it`);
      const audited = await audit(world, all);
      return {
        violations: [...violations, ...unquiet, ...audited.violations],
        trials,
        notes: `${errors} of them answered 500; ${JSON.stringify(audited.counts)}`,
      };
    }),
};

async function revokeUnderLoad(world: World, random: Random, key: Key, round: number) {
  const before: Seen[] = [];
  const after: Seen[] = [];
  let atMs = Number.POSITIVE_INFINITY;
  let sent = 0;
  // Each request has its own address. Otherwise the limit on invalid keys would refuse it, and not
  // the revocation.
  const ask = () => ({
    ...plainAsk(key, random.pick(world.gateways), { tag: `${round}-${sent++}`, headMs: random.whole(0, 20) }),
    from: `10.${random.whole(0, 255)}.${random.whole(0, 255)}.${random.whole(0, 255)}`,
  });
  const client = async () => {
    while (after.length < TRIES) {
      const revoked = Date.now() > atMs;
      const seen = await send(ask());
      (revoked ? after : before).push(seen);
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  await pause(random.whole(50, 300));
  await revoke(world, key);
  atMs = Date.now();
  await Promise.all(clients);
  return { before, after, atMs };
}
