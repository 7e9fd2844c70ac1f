import { type Condition, KEPT_CONDITIONS } from '@tidegate/contracts';
import type { KubernetesSettings, ProcessSettings } from '@tidegate/contracts/driver-settings';
import type { Model } from '@tidegate/db';
import { DAY_MS } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps, DownReplica } from '../deps.ts';
import { orgField, reference } from '../fields.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { activityOf, type ListedModelView, modelView, reasonForAll, withReasonForAll } from './view.ts';

const WHICH = { error: 'Give the id of a model, or its name.' };
const showInput = z
  .object({ org: orgField, id: reference('Model id').optional(), name: reference('Name').optional() })
  .refine(({ id, name }) => (id === undefined) !== (name === undefined), WHICH);
export type ShowModelInput = z.input<typeof showInput>;

export interface ConditionChangeView {
  readonly condition: Condition;
  /** The first line of the reason why it failed, or did not start yet; null otherwise. */
  readonly reason: string | null;
  /** ISO 8601. */
  readonly at: string;
}

/** What owners can change. A URL's path may hold a secret, so only they see it. */
export interface ModelSettings {
  /** Null: the model runs a command, or a workload on Kubernetes. */
  readonly urls: readonly string[] | null;
  readonly upstreamModel: string | null;
  /** Whether there is an upstream key. The key itself is never shown. */
  readonly hasUpstreamKey: boolean;
  readonly healthPath: string | null;
  /** Null: the default, or the model is at URLs. */
  readonly startTimeoutS: number | null;
}

/** What runs. A command may hold secrets, so only operators see it. */
export interface ModelRun {
  readonly command: string | null;
  /** `namespace/kind/name` of a Kubernetes workload. */
  readonly workload: string | null;
  /** Its Service, with the port if one was given. */
  readonly service: string | null;
  /** What it is scaled to when it starts. Null: the default. */
  readonly replicas: number | null;
}

export interface ModelDetail extends ListedModelView {
  /** ISO 8601: when it got the condition. */
  readonly conditionAt: string;
  /** Newest first: the last 200 of the last 35 days. */
  readonly changes: readonly ConditionChangeView[];
  /** Null: the actor may not change the model. */
  readonly settings: ModelSettings | null;
  /** Null: the actor is not an operator. */
  readonly run: ModelRun | null;
  /** The replicas that cannot be called. Also empty if the actor may not change the model. */
  readonly down: readonly DownReplica[];
}

/**
 * Shows one published model: its condition and recent changes of it, its activity and its settings.
 */
export async function showModel(
  deps: ControlDeps,
  actor: Actor,
  input: ShowModelInput,
): Promise<Result<ModelDetail>> {
  const parsed = parseInput(showInput, input);
  if (!parsed.ok) return parsed;
  const { id: wanted, name } = parsed.value;
  const org = await access(deps, actor, parsed.value.org, 'model.list');
  if (!org.ok) return org;
  const { id: orgId } = org.value;
  const mayChange = org.value.may('model.change');
  const which = wanted === undefined ? { name: name ?? '' } : { id: wanted };
  const row = await deps.db.model.findFirst({ where: { ...which, orgId, deletedAt: null } });
  if (!row)
    return refuse(
      'not_found',
      `There is no published model "${wanted ?? name}".`,
      wanted === undefined ? 'name' : 'id',
    );
  const { id } = row;
  // Older ones may remain until the next change.
  const since = new Date(deps.now() - KEPT_CONDITIONS.days * DAY_MS);
  const [changes, activity] = await Promise.all([
    deps.db.conditionChange.findMany({
      where: { modelId: id, at: { gte: since } },
      orderBy: { at: 'desc' },
      take: KEPT_CONDITIONS.changes,
    }),
    deps.runner.activity(orgId).catch(() => null),
  ]);
  return ok({
    ...(mayChange ? modelView(row) : withReasonForAll(modelView(row))),
    ...activityOf(row, activity),
    conditionAt: row.conditionAt.toISOString(),
    changes: changes.map(({ condition, reason, at }) => ({
      condition,
      reason: mayChange ? reason : reasonForAll(reason),
      at: at.toISOString(),
    })),
    settings: mayChange ? settingsOf(row) : null,
    run: actor.kind === 'operator' ? runOf(row) : null,
    down: (mayChange && activity?.get(row.pool)?.replicas.get(id)?.down) || [],
  });
}

function runOf({ driver, settings }: Model): ModelRun {
  const { command, namespace, kind, name, service, port, replicas } = settings as Partial<
    ProcessSettings & KubernetesSettings
  >;
  return {
    command: command ?? null,
    workload: driver === 'kubernetes' ? `${namespace}/${kind}/${name}` : null,
    service: service === undefined ? null : [service, port].filter(Boolean).join(':'),
    replicas: replicas ?? null,
  };
}

function settingsOf({ settings, upstreamModel, upstreamKey }: Model): ModelSettings {
  const { urls, healthPath, startTimeoutS } = settings as Partial<ModelSettings>;
  return {
    urls: urls ?? null,
    upstreamModel,
    hasUpstreamKey: upstreamKey !== null,
    healthPath: healthPath ?? null,
    startTimeoutS: startTimeoutS ?? null,
  };
}
