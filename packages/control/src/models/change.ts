import { seal } from '@tidegate/contracts';
import type { Model, Prisma } from '@tidegate/db';
import type { Actor } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { lockedAccess } from '../members/lock.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import {
  type ChangedSettings,
  type ChangeModelInput,
  changeInput,
  NO_START_TIMEOUT,
  ONLY_FOR_WORKLOADS,
} from './input.ts';
import { findModel, tellRunner } from './models.ts';
import { originOf } from './origin.ts';
import { poolFor, refuseMove, refuseShare, refuseTooLarge } from './placement.ts';
import { refuseServers } from './servers.ts';
import type { ModelChange } from './view.ts';

/** The settings that are stored with the driver, not in columns of their own. */
const OF_DRIVER = ['urls', 'command', 'replicas', 'healthPath', 'startTimeoutS'] as const;

/**
 * Changes settings of a published model. Its id, its keys and its usage stay. Requests in flight
 * finish with the old settings. A running process continues as it was started, and takes the change
 * at its next start.
 */
export async function changeModel(
  deps: ControlDeps,
  actor: Actor,
  input: ChangeModelInput,
): Promise<Result<ModelChange>> {
  const parsed = parseInput(changeInput, input);
  if (!parsed.ok) return parsed;
  const { org, name, ...changes } = parsed.value;
  const found = await findModel(deps, actor, { ...(org === undefined ? {} : { org }), name }, 'model.change');
  if (!found.ok) return found;
  const { id, orgId, driver, mode, pool, cost } = found.value;
  const changed = Object.entries(changes).flatMap(([field, value]) => (value === undefined ? [] : [field]));
  if (changed.length === 0)
    return refuse('invalid_input', 'Give at least one setting to change: URLs, context, upstream key, …');
  if (changes.command !== undefined && actor.kind !== 'operator')
    return refuse('forbidden', 'Only an operator of the installation may change a command.', 'command');
  if (changes.pool !== undefined && actor.kind !== 'operator')
    return refuse('forbidden', 'Only an operator of the installation may move a model.', 'pool');
  if (changes.pool !== undefined) {
    const to = poolFor(deps, actor, changes.pool);
    if (!to.ok) return to;
  }
  const unfit = refuseShare(actor, driver, changes) ?? unfitFor(driver, mode, changes);
  if (unfit) return unfit;
  const row = await deps.db.$transaction(async (tx): Promise<Result<Model>> => {
    const still = await lockedAccess(deps, tx, actor, orgId, 'model.change');
    if (!still.ok) return still;
    const tooMany =
      changes.urls === undefined && changes.replicas === undefined
        ? null
        : await refuseServers(tx, actor, orgId, { id, settings: changes });
    if (tooMany) return tooMany;
    const data = await changeOf(tx, deps, id, changes);
    const stays = changes.pool === undefined ? null : await refuseMove(tx, id, changes.pool);
    const tooLarge =
      changes.pool === undefined && changes.cost === undefined
        ? null
        : await refuseTooLarge(tx, changes.pool ?? pool, changes.cost ?? cost, id);
    const refused = stays ?? tooLarge;
    if (refused) return refused;
    const [after] = await tx.model.updateManyAndReturn({ where: { id, deletedAt: null }, data });
    if (!after) return refuse('not_found', `There is no published model "${name}".`, 'name');
    // As in the event of its publication.
    const upstreamKey =
      changes.upstreamKey === undefined ? {} : { upstreamKey: changes.upstreamKey !== null };
    const details = { name, changed, ...originsIn(changes), ...upstreamKey };
    await audit(tx, actor, deps.now(), [{ orgId, action: 'model.change', target: id, details }]);
    return ok(after);
  });
  return row.ok ? ok(await tellRunner(deps, row.value, pool)) : row;
}

type Changes = Omit<ChangedSettings, 'org' | 'name'>;

/** Where it runs from now on, for the audit trail. */
function originsIn({ urls, command }: Changes): Partial<ReturnType<typeof originOf>> {
  if (urls !== undefined) return originOf({ driver: 'external', settings: { urls } });
  return command === undefined ? {} : originOf({ driver: 'process', settings: { command } });
}

const WHAT_IT_IS: Readonly<Record<string, string>> = {
  external: 'is at URLs',
  process: 'runs a command',
  kubernetes: 'is a Kubernetes workload',
};

function unfitFor(driver: string, mode: string, changes: Changes) {
  const { urls, command, service, replicas, startTimeoutS, sleepAfterS } = changes;
  if (driver !== 'external' && urls !== undefined)
    return refuse(
      'invalid_input',
      `This model ${WHAT_IT_IS[driver]} and has no URLs. Publish another one.`,
      'urls',
    );
  if (driver !== 'process' && command !== undefined)
    return refuse(
      'invalid_input',
      `This model ${WHAT_IT_IS[driver]} and runs no command. Publish another one.`,
      'command',
    );
  if (driver !== 'kubernetes' && (service !== undefined || replicas !== undefined))
    return refuse('invalid_input', ONLY_FOR_WORKLOADS, service === undefined ? 'replicas' : 'service');
  if (driver === 'external' && startTimeoutS !== undefined)
    return refuse('invalid_input', NO_START_TIMEOUT, 'startTimeoutS');
  if (mode === 'always_on' && sleepAfterS !== undefined)
    return refuse('invalid_input', 'An idle time is only for a model that wakes on request.', 'sleepAfterS');
  return null;
}

/** Locks the row, so that two concurrent changes each keep what the other one changes. */
async function changeOf(tx: Tx, { secretKey }: ControlDeps, id: string, changes: Changes) {
  const { contextTokens, sleepAfterS, upstreamModel, upstreamKey, service, pool } = changes;
  const [row] = await tx.$queryRaw<{ settings: Record<string, unknown> }[]>`
    SELECT settings FROM model WHERE id = ${id} FOR NO KEY UPDATE`;
  const settings: Record<string, unknown> = { ...row?.settings };
  for (const field of OF_DRIVER) {
    const value = changes[field];
    if (value === null) delete settings[field];
    else if (value !== undefined) settings[field] = value;
  }
  if (service) {
    // The former Service's port goes with it.
    delete settings.port;
    Object.assign(settings, service);
  }
  const data: Prisma.ModelUncheckedUpdateManyInput = {
    settings: settings as Prisma.InputJsonObject,
    version: { increment: 1 },
    ...(contextTokens !== undefined && { contextTokens }),
    ...(sleepAfterS !== undefined && { sleepAfterS }),
    ...(pool !== undefined && { pool }),
    ...(changes.cost !== undefined && { cost: changes.cost }),
    ...(changes.pinned !== undefined && { pinned: changes.pinned }),
    ...(upstreamModel !== undefined && { upstreamModel }),
    ...(upstreamKey !== undefined && {
      upstreamKey: upstreamKey === null ? null : Uint8Array.from(seal(secretKey, upstreamKey)),
    }),
  };
  return data;
}
