import { z } from 'zod';
import { type Actor, access, type OrgRef } from '../access/access.ts';
import { auditInEach } from '../access/audit.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField } from '../fields.ts';
import { lockedAccess } from '../members/lock.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { unreached } from '../unreached.ts';

/**
 * How long deleting may wait for a connection, and then take. The latter includes waiting for
 * whoever is changing the organization.
 */
const TRANSACTION = { maxWait: 10_000, timeout: 60_000 };
/** Usage may be large. After this time, metering deletes the rest. */
const PURGE_MS = 20_000;
const MODELS_AT_ONCE = 8;

export interface DeletedOrgView {
  readonly id: string;
  /**
   * False: the runner could not be reached. It ends the organization's models within half a minute
   * of being back.
   */
  readonly runnerReached: boolean;
  /** False: there is a lot of usage, and metering deletes the rest of it. */
  readonly usageDeleted: boolean;
}

const deleteInput = z.object({
  org: orgField,
  confirm: z.string({ error: "Type the organization's name to confirm." }).trim(),
});
export type DeleteOrgInput = z.input<typeof deleteInput>;

/**
 * Deletes an organization and everything that belongs to it, for good. Its name must be given to
 * confirm. Postgres forgets it first, in one transaction: from then on nothing can bring it back.
 * Once this has resolved ok, no gateway admits its keys, and its requests in flight are ending.
 *
 * If this program dies in between, limiter, runner and metering finish by themselves. An operator
 * can also repeat it safely, with the organization's id. `notInForce`: the organization is deleted,
 * but no limiter could be reached.
 */
export async function deleteOrg(
  deps: ControlDeps,
  actor: Actor,
  input: DeleteOrgInput,
): Promise<Result<DeletedOrgView>> {
  const parsed = parseInput(deleteInput, input);
  if (!parsed.ok) return parsed;
  const { org: ref, confirm } = parsed.value;
  const found = await access(deps, actor, ref, 'org.delete');
  if (!found.ok) {
    const again = await wasDeleted(deps, actor, ref);
    return again === null ? found : finish(deps, actor, again, []);
  }
  if (confirm !== found.value.name)
    return refuse('invalid_input', `Type the organization's name to confirm: ${found.value.name}`, 'confirm');
  const deleted = await deleteRows(deps, actor, found.value);
  return deleted.ok ? finish(deps, actor, found.value.id, deleted.value) : deleted;
}

/** Resolves to the id of a deleted organization whose deletion an operator repeats, or to null. */
async function wasDeleted(
  { db }: ControlDeps,
  actor: Actor,
  ref: string | undefined,
): Promise<string | null> {
  if (actor.kind !== 'operator' || ref === undefined) return null;
  const row = await db.deletedOrg.findUnique({ where: { orgId: ref }, select: { orgId: true } });
  return row?.orgId ?? null;
}

/**
 * Resolves to the ids of the models that were published. An operator's event has the id of the
 * organization and nothing else about it.
 */
async function deleteRows(deps: ControlDeps, actor: Actor, { id }: OrgRef): Promise<Result<string[]>> {
  const by = actor.kind === 'operator' ? 'operator' : actor.userId;
  return deps.db.$transaction(async (tx): Promise<Result<string[]>> => {
    // Makes whoever is adding something to the organization finish first, or find that it is gone.
    const still = await lockedAccess(deps, tx, actor, id, 'org.delete');
    if (!still.ok) return still;
    const models = await tx.$queryRaw<{ id: string }[]>`SELECT delete_organization(${id}, ${by}) AS id`;
    await auditInEach(tx, actor, deps.now(), [], { action: 'org.delete', target: id, details: {} });
    return ok(models.map((model) => model.id));
  }, TRANSACTION);
}

async function finish(
  deps: ControlDeps,
  actor: Actor,
  id: string,
  modelIds: readonly string[],
): Promise<Result<DeletedOrgView>> {
  const untold = await forget(deps, actor, id);
  const [runnerReached, usageDeleted] = await Promise.all([endModels(deps, modelIds), purgeUsage(deps, id)]);
  const deleted = ok({ id, runnerReached, usageDeleted });
  return untold === null ? deleted : { ...deleted, notInForce: untold };
}

/**
 * Null: the limiter has forgotten it. Otherwise: that it could not be reached, and what follows.
 */
async function forget({ limiter }: ControlDeps, actor: Actor, id: string): Promise<string | null> {
  try {
    await limiter.forgetOrg(id);
    return null;
  } catch (error) {
    return `The organization is deleted, but its keys may still be accepted: ${unreached('limiter', error, actor)}. They will be refused within a minute of the limiter being back.`;
  }
}

/** Has the runner end the models, whose rows are gone. False: it could not be reached. */
async function endModels({ runner }: ControlDeps, modelIds: readonly string[]): Promise<boolean> {
  try {
    for (let i = 0; i < modelIds.length; i += MODELS_AT_ONCE)
      await Promise.all(
        modelIds.slice(i, i + MODELS_AT_ONCE).map((modelId) => runner.refresh(modelId, null)),
      );
    return true;
  } catch {
    return false;
  }
}

/** Deletes usage step by step. False: there was not enough time. */
async function purgeUsage({ db }: ControlDeps, id: string): Promise<boolean> {
  const untilMs = performance.now() + PURGE_MS;
  while (performance.now() < untilMs) {
    const [row] = await db.$queryRaw<{ more: boolean }[]>`SELECT purge_organization(${id}) AS more`;
    if (!row?.more) return true;
  }
  return false;
}
