import { orgTagOf, randomBase62 } from '@tidegate/contracts';
import type { Result } from '@tidegate/control';
import { eventually, generousPlan } from '@tidegate/testing';
import type { Key, KeyWish, Limits, Org, OrgWish } from './org.ts';
import type { World } from './world.ts';

const OPERATOR = { kind: 'operator' } as const;
const MANY = 1_000_000_000_000;
/**
 * The context of every model. It has room for prompts whose length names their call (see
 * witness.ts).
 */
export const CONTEXT_TOKENS = 1_000_000;

const WITHOUT_LIMITS: Limits = {
  requestsPerMonth: MANY,
  tokensPerMonth: MANY,
  requestsPerMinute: 1_000_000,
  atOnce: 10_000,
};

/**
 * Creates an organization on its own plan, with keys, and with running models that every gateway
 * knows.
 */
export async function makeOrg(world: World, { keys, models, ...wish }: OrgWish): Promise<Org> {
  const name = `Org ${randomBase62(8)}`;
  const limits = { ...WITHOUT_LIMITS, ...wish };
  must(await world.control.setPlan(OPERATOR, { name, ...generousPlan(), ...planOf(limits) }));
  const { id, slug } = must(await world.control.createOrg(OPERATOR, { name, plan: name }));
  const org: Org = { id, slug, tag: orgTagOf(id), most: limits, listings: 0, keys: [], models: new Map() };
  world.caps.set(id, limits.atOnce);
  await Promise.all(
    (models ?? ['tide', 'ebb']).map(async (model) =>
      org.models.set(model, await publish(world, slug, model)),
    ),
  );
  for (const key of keys) await makeKey(world, org, key);
  await everyGatewayKnows(world, org);
  world.orgs.push(org);
  return org;
}

export async function makeKey(world: World, org: Org, wish: KeyWish): Promise<Key> {
  const { rpm = 6_000, atOnce = 256, expiresOn } = wish;
  const { id, key } = must(
    await world.control.createKey(OPERATOR, {
      org: org.slug,
      name: 'Load',
      requestsPerMinute: rpm,
      requestsAtOnce: atOnce,
      ...(expiresOn ? { expiresOn } : {}),
    }),
  );
  const made = { id, value: key, rpm, atOnce, org };
  world.caps.set(id, atOnce);
  org.keys.push(made);
  return made;
}

export async function revoke(world: World, key: Key): Promise<void> {
  must(await world.control.revokeKey(OPERATOR, { org: key.org.slug, id: key.id }));
}

/** Changes the plan of an organization. Resolves when the limits are in force. */
export async function setLimits(world: World, org: Org, limits: Limits): Promise<void> {
  const { most } = org;
  org.most = {
    requestsPerMonth: Math.max(most.requestsPerMonth, limits.requestsPerMonth),
    tokensPerMonth: Math.max(most.tokensPerMonth, limits.tokensPerMonth),
    requestsPerMinute: Math.max(most.requestsPerMinute, limits.requestsPerMinute),
    atOnce: Math.max(most.atOnce, limits.atOnce),
  };
  world.caps.set(org.id, org.most.atOnce);
  const row = await world.db.org.findUniqueOrThrow({ where: { id: org.id }, include: { plan: true } });
  must(await world.control.setPlan(OPERATOR, { name: row.plan.name, ...planOf(limits) }));
}

const planOf = ({ atOnce, ...limits }: Limits) => ({ ...limits, requestsAtOnce: atOnce });

async function publish(world: World, org: string, name: string): Promise<string> {
  const model = must(
    await world.control.publishModel(OPERATOR, {
      org,
      name,
      kind: 'text',
      mode: 'always_on',
      contextTokens: CONTEXT_TOKENS,
      urls: [world.witness.url],
    }),
  );
  await eventually(
    async () => (await world.db.model.findUnique({ where: { id: model.id } }))?.condition === 'running',
  );
  return model.id;
}

/** Waits until every gateway knows the models. They hear of a new model a moment later. */
async function everyGatewayKnows(world: World, org: Org): Promise<void> {
  const { value } = org.keys[0] ?? (await makeKey(world, org, {}));
  const headers = { authorization: `Bearer ${value}` };
  for (const gateway of world.gateways) {
    const known = async () => {
      org.listings++;
      const { data } = (await (await fetch(`${gateway}/models`, { headers })).json()) as { data: unknown[] };
      return data.length === org.models.size;
    };
    await eventually(known, { intervalMs: 100 });
  }
}

function must<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new Error(result.refusal.message);
}
