import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { readRows } from '../audit/rows.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import { pause, type Random } from '../world/random.ts';
import type { Key, World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { within } from './within.ts';

const CLIENTS = 6;
/** After the revocation, for each key. */
const TRIES = 120;

/** After a revocation has returned, not one request of the key is admitted, through either gateway. */
export const revocation: Scenario = {
  name: 'revocation under load, two gateways',
  laws: '4',
  unit: 'requests after it',
  run: (random, size) =>
    within({ env: { gateway: { TRUSTED_PROXIES: '1' } } }, async (world) => {
      const org = await world.makeOrg({ keys: [], models: ['tide'] });
      const violations: string[] = [];
      const all: Seen[] = [];
      const revokedMs = new Map<string, number>();
      let trials = 0;
      for (let i = 0; i < (size === 'short' ? 3 : 30); i++) {
        const key = await world.makeKey(org, {});
        const { before, after, atMs } = await revokeUnderLoad(world, random, key, i);
        revokedMs.set(key.id, atMs);
        all.push(...before, ...after);
        trials += after.length;
        for (const one of after)
          if (one.code !== 'invalid_api_key') violations.push(`after revocation: ${one.status} ${one.code}`);
      }
      const unquiet = await untilQuiet(world);
      for (const { id, key, atMs } of await readRows(world))
        if (atMs > (revokedMs.get(key) ?? Number.POSITIVE_INFINITY))
          violations.push(`${id}: reserved after it`);
      const audited = await audit(world, all);
      return { violations: [...violations, ...unquiet, ...audited.violations], trials };
    }),
};

async function revokeUnderLoad(world: World, random: Random, key: Key, round: number) {
  const before: Seen[] = [];
  const after: Seen[] = [];
  let atMs = Number.POSITIVE_INFINITY;
  let sent = 0;
  // Each from an address of its own: else the limit on invalid keys would refuse them, not the revocation.
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
  await world.revoke(key);
  atMs = Date.now();
  await Promise.all(clients);
  return { before, after, atMs };
}
