import type { Condition } from '@tidegate/contracts';
import type { Model } from '@tidegate/db';
import type { PoolActivity, ReplicaCount } from '../deps.ts';

interface PublishedView {
  readonly id: string;
  readonly name: string;
  readonly kind: 'text' | 'vision';
  readonly mode: 'always_on' | 'wake_on_request';
  readonly contextTokens: number;
  readonly driver: string;
  /** The pool of runners that it belongs to. */
  readonly pool: string;
  /** How much of its pool's capacity it takes while it runs. */
  readonly cost: number;
  /** It is never put to sleep to make room for another model. */
  readonly pinned: boolean;
  /** The idle time after which a wake-on-request model sleeps. Null: the model is always on. */
  readonly sleepAfterS: number | null;
  /** ISO 8601. */
  readonly publishedAt: string;
}

export interface ModelView extends PublishedView {
  readonly condition: Condition;
  /**
   * Why it failed, or does not start yet; null otherwise. Its first line is the reason. Below it is
   * what the model's process last printed before it was ready. Only those who may change the model
   * see that, and the paths of URLs.
   */
  readonly conditionReason: string | null;
}

/** A model in its present condition. */
export interface ModelNow extends ModelView {
  /** While it runs on several. Null: it does not, or that is not known. */
  readonly replicas: ReplicaCount | null;
}

/** A model in a list, with its current activity. */
export interface ListedModelView extends ModelNow {
  /**
   * Requests in flight through all gateways. Null: not asked for, or the runner could not be
   * reached.
   */
  readonly inFlight: number | null;
}

/** A change to a model. It is written even if the runner could not be reached. */
export interface ModelChange extends ModelNow {
  /**
   * False: the runner could not be reached. It reads the change when it is back. Until then
   * gateways have the old state.
   */
  readonly runnerReached: boolean;
}

/** A model that was just deleted. It has no condition any more: its runner ends what runs. */
export interface DeletedModelView extends PublishedView {
  /** ISO 8601. */
  readonly deletedAt: string;
  /** False: the runner could not be reached. It ends the model when it is back. */
  readonly runnerReached: boolean;
}

export const modelView = (row: Model): ModelView => ({
  ...publishedView(row),
  condition: row.condition,
  conditionReason: row.conditionReason,
});

/** As it was published and changed since, whatever has become of it. */
export const publishedView = (row: Model): PublishedView => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  mode: row.mode,
  contextTokens: row.contextTokens,
  driver: row.driver,
  pool: row.pool,
  cost: row.cost,
  pinned: row.pinned,
  sleepAfterS: row.mode === 'wake_on_request' ? row.sleepAfterS : null,
  publishedAt: row.publishedAt.toISOString(),
});

/** As seen by those who may not change the model. */
export const withReasonForAll = <V extends ModelView>(view: V): V => ({
  ...view,
  conditionReason: reasonForAll(view.conditionReason),
});

interface Named {
  readonly name: string;
  readonly deletedAt: Date | null;
}

/** What to call a model. Without a row it is called by its id. */
export const modelNameOf = (modelId: string, row: Named | undefined) => ({
  modelId,
  model: row?.name ?? modelId,
  modelDeleted: !row || row.deletedAt !== null,
});

/** A URL with a path, which may hold a secret. */
const URL_WITH_PATH = /(https?:\/\/[^\s/]+)\/\S*?(?=[.,:]?(?:\s|$))/g;

/** The first line of a reason, with only the origins of its URLs. */
export const reasonForAll = (reason: string | null): string | null =>
  reason?.split('\n', 1)[0]?.replace(URL_WITH_PATH, '$1') ?? null;

/** @param activity null: not known */
export function activityOf(
  { id, pool }: Model,
  activity: ReadonlyMap<string, PoolActivity> | null,
): Pick<ListedModelView, 'inFlight' | 'replicas'> {
  const ofPool = activity?.get(pool);
  if (!ofPool) return { inFlight: null, replicas: null };
  const counted = ofPool.replicas.get(id);
  const replicas = counted ? { up: counted.up, total: counted.total } : null;
  return { inFlight: ofPool.inFlight.get(id) ?? 0, replicas };
}
