import type { ExternalSettings } from '@tidegate/contracts/driver-settings';
import type { Model } from '@tidegate/db';
import type { Actor } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { ok, parseInput, type Result } from '../result.ts';
import { askServers, type ModelCheck } from './check.ts';
import { type ChangedSettings, type ChangeModelInput, changeInput } from './input.ts';
import { findModel } from './models.ts';
import { poolFor } from './placement.ts';

/** What makes a difference to a check. Another pool's runner may reach other servers. */
const SEEN = ['urls', 'contextTokens', 'upstreamModel', 'upstreamKey', 'healthPath', 'pool'] as const;

/**
 * Asks the servers of a published model whether calls could work if it were changed like this.
 * Null: the model is not at URLs, or the change makes no difference to its servers. A kept upstream
 * key is sent wherever the changed model would send it: a check reveals no more than the change
 * does.
 */
export async function checkChange(
  deps: ControlDeps,
  actor: Actor,
  input: ChangeModelInput,
): Promise<Result<ModelCheck | null>> {
  const parsed = parseInput(changeInput, input);
  if (!parsed.ok) return parsed;
  const { org, name, ...changes } = parsed.value;
  const found = await findModel(deps, actor, { ...(org === undefined ? {} : { org }), name }, 'model.change');
  if (!found.ok) return found;
  const { driver, orgId, settings, contextTokens } = found.value;
  if (driver !== 'external' || SEEN.every((field) => changes[field] === undefined)) return ok(null);
  const { urls, healthPath } = settings as unknown as ExternalSettings;
  const pool = changes.pool === undefined ? ok(found.value.pool) : poolFor(deps, actor, changes.pool);
  if (!pool.ok) return pool;
  return askServers(deps, actor, {
    orgId,
    model: name,
    pool: pool.value,
    urls: changes.urls ?? urls,
    contextTokens: changes.contextTokens ?? contextTokens,
    asked: {
      ...upstreamModelOf(found.value, changes),
      ...upstreamKeyOf(found.value, changes),
      ...healthPathOf(healthPath, changes),
    },
  });
}

type Changes = Pick<ChangedSettings, 'upstreamModel' | 'upstreamKey' | 'healthPath'>;

function healthPathOf(before: string | undefined, { healthPath = before }: Changes) {
  return healthPath == null ? {} : { healthPath };
}

function upstreamModelOf({ name, upstreamModel: before }: Model, { upstreamModel = before }: Changes) {
  return { upstreamModel: upstreamModel ?? name, upstreamModelAssumed: upstreamModel === null };
}

/** A kept key is not opened here. */
function upstreamKeyOf({ id, upstreamKey: before }: Model, { upstreamKey }: Changes) {
  if (upstreamKey === undefined && before !== null) return { upstreamKey: '', upstreamKeyOf: id };
  return { upstreamKey: upstreamKey ?? '' };
}
