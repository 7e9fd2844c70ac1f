import { newApiKey, newKeyId, newPageKeyId, orgTagOf } from '@tidegate/contracts';
import { dayOf } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { isDay, nameField, orgField, reference, wholeBetween } from '../fields.ts';
import { lockedAccess } from '../members/lock.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { KEY_RULES, type KeyView, keyInclude, keyView } from './view.ts';

const { requestsPerMinute, requestsAtOnce } = KEY_RULES;
const MODELS_RULE = `Choose 1 to ${KEY_RULES.models} published models, or all models.`;
const DATE_RULE = 'Expires on must be a day as YYYY-MM-DD, today (UTC) or later.';

const createInput = (today: string) =>
  z.object({
    org: orgField,
    name: nameField('Name', KEY_RULES.name),
    models: z
      .array(z.string({ error: MODELS_RULE }).pipe(reference('Model')), { error: MODELS_RULE })
      .transform((names) => [...new Set(names)])
      .refine((names) => names.length >= 1 && names.length <= KEY_RULES.models, { error: MODELS_RULE })
      .optional(),
    requestsPerMinute: wholeBetween(
      'Requests per minute',
      requestsPerMinute.min,
      requestsPerMinute.max,
    ).default(requestsPerMinute.default),
    requestsAtOnce: wholeBetween('Requests at once', requestsAtOnce.min, requestsAtOnce.max).default(
      requestsAtOnce.default,
    ),
    expiresOn: z
      .string({ error: DATE_RULE })
      .refine((day) => isDay(day) && day >= today, { error: DATE_RULE })
      .optional(),
  });
export type CreateKeyInput = z.input<ReturnType<typeof createInput>>;
type Settings = z.output<ReturnType<typeof createInput>>;

export interface CreatedKey extends KeyView {
  /** The key's value. It is shown only now and stored nowhere. */
  readonly key: string;
}

/**
 * Creates an API key (docs/conformance.md, "API key"). Without `models` it may call all models,
 * later ones too.
 */
export async function createKey(
  deps: ControlDeps,
  actor: Actor,
  input: CreateKeyInput,
): Promise<Result<CreatedKey>> {
  const parsed = parseInput(createInput(dayOf(deps.now())), input);
  if (!parsed.ok) return parsed;
  const settings = parsed.value;
  const org = await access(deps, actor, settings.org, 'key.create');
  if (!org.ok) return org;
  const { id } = org.value;
  return deps.db.$transaction(async (tx): Promise<Result<CreatedKey>> => {
    const still = await lockedAccess(deps, tx, actor, id, 'key.create');
    return still.ok ? insertKey(deps, tx, actor, id, settings) : still;
  });
}

/** What makes a key a page key. */
export interface PageOf {
  readonly userId: string;
  readonly expiresAt: Date;
}

/** Creates a key. The caller has locked the organization. */
export async function insertKey(
  deps: ControlDeps,
  tx: Tx,
  actor: Actor,
  orgId: string,
  settings: Settings,
  page: PageOf | null = null,
): Promise<Result<CreatedKey>> {
  const room = await checkRoom(tx, orgId, deps.now());
  if (!room.ok) return room;
  const models = await chosenModels(tx, orgId, settings.models);
  if (!models.ok) return models;
  const fresh = newApiKey(orgTagOf(orgId));
  const row = await tx.apiKey.create({
    data: {
      id: page ? newPageKeyId() : newKeyId(),
      orgId,
      name: settings.name,
      prefix: fresh.prefix,
      hash: Uint8Array.from(fresh.hash),
      allModels: settings.models === undefined,
      requestsPerMinute: settings.requestsPerMinute,
      requestsAtOnce: settings.requestsAtOnce,
      expiresOn: settings.expiresOn === undefined ? null : new Date(settings.expiresOn),
      expiresAt: page?.expiresAt ?? null,
      pageUserId: page?.userId ?? null,
      createdAt: new Date(deps.now()),
      models: { create: models.value.map((modelId) => ({ modelId })) },
    },
    include: keyInclude,
  });
  const { requestsPerMinute: rpm, requestsAtOnce: atOnce, expiresOn = null } = settings;
  const details = {
    name: row.name,
    prefix: row.prefix,
    models: settings.models ?? null,
    rpm,
    atOnce,
    ...(page ? { until: page.expiresAt.toISOString() } : { expiresOn }),
  };
  await audit(tx, actor, deps.now(), [{ orgId, action: 'key.create', target: row.id, details }]);
  return ok({ ...keyView(row, deps.now()), key: fresh.value });
}

/**
 * Checks whether there is room for another key. The organization is locked, so concurrent creations
 * cannot exceed the plan's limit together. Page keys that have expired take no room.
 */
async function checkRoom(tx: Tx, orgId: string, nowMs: number): Promise<Result<null>> {
  const { plan } = await tx.org.findUniqueOrThrow({ where: { id: orgId }, select: { plan: true } });
  await tx.apiKey.deleteMany({ where: { orgId, expiresAt: { lte: new Date(nowMs) } } });
  const [count] = await tx.$queryRaw<{ total: number; valid: number }[]>`
    SELECT count(*)::int AS total, (count(*) FILTER (WHERE revoked_at IS NULL))::int AS valid
    FROM api_key WHERE org_id = ${orgId}`;
  const { total = 0, valid = 0 } = count ?? {};
  const most = Math.min(plan.keys, KEY_RULES.perOrg.notRevoked);
  if (valid >= most) {
    return refuse(
      'limit_reached',
      `The plan ${plan.name} has room for ${most === 1 ? '1 key that is' : `${most} keys that are`} not revoked: revoke ${valid > most ? 'keys' : 'one'} first.`,
    );
  }
  if (total >= KEY_RULES.perOrg.total) {
    return refuse(
      'limit_reached',
      'There are 1,000 keys, revoked ones included: delete a revoked one first.',
    );
  }
  return ok(null);
}

/** Turns names into ids, because a key is tied to the models and not to their names. */
async function chosenModels(
  tx: Tx,
  orgId: string,
  names: readonly string[] | undefined,
): Promise<Result<string[]>> {
  if (names === undefined) return ok([]);
  const models = await tx.model.findMany({
    where: { orgId, name: { in: [...names] }, deletedAt: null },
    select: { id: true, name: true },
  });
  const missing = names.filter((name) => !models.some((model) => model.name === name));
  if (missing.length > 0)
    return refuse('not_found', `There is no published model ${missing.map(quoted).join(', ')}.`, 'models');
  return ok(models.map((model) => model.id));
}

const quoted = (name: string): string => `"${name}"`;
