import type { Condition, ListedModelView } from '@tidegate/control';
import { FIRST_ROWS } from '../ui/wanted-rows.ts';

/** What the table shows of a model. There may be hundreds of models. */
export interface ModelTableRow
  extends Pick<
    ListedModelView,
    | 'id'
    | 'name'
    | 'kind'
    | 'mode'
    | 'contextTokens'
    | 'sleepAfterS'
    | 'condition'
    | 'conditionReason'
    | 'publishedAt'
    | 'inFlight'
    | 'replicas'
  > {
  /** Null: all models are in one pool. */
  readonly pool: string | null;
}

export const modelRow = (model: ListedModelView, severalPools: boolean): ModelTableRow => ({
  id: model.id,
  name: model.name,
  kind: model.kind,
  mode: model.mode,
  contextTokens: model.contextTokens,
  sleepAfterS: model.sleepAfterS,
  condition: model.condition,
  conditionReason: model.conditionReason,
  publishedAt: model.publishedAt,
  inFlight: model.inFlight,
  replicas: model.replicas,
  pool: severalPools ? model.pool : null,
});

/** The list's texts in the page's address. */
export const MODELS_IN_ADDRESS = ['find', 'condition'] as const;

/** Fewer models than this need no filter. */
export const FILTERED_FROM = 12;

/** By name. If there are more than a page shows at first, those that failed come first. */
export function inOrder<M extends { readonly condition: Condition }>(models: readonly M[]): readonly M[] {
  if (models.length <= FIRST_ROWS) return models;
  return [...models].sort((a, b) => Number(b.condition === 'failed') - Number(a.condition === 'failed'));
}

/** Whether the runners of all models have answered. */
export const isLive = (models: readonly Pick<ListedModelView, 'inFlight'>[]): boolean =>
  models.every(({ inFlight }) => inFlight !== null);

/** How many models are in each condition. A condition that none is in is left out. */
export function countByCondition(
  models: readonly { readonly condition: Condition }[],
): Partial<Record<Condition, number>> {
  const counts: Partial<Record<Condition, number>> = {};
  for (const { condition } of models) counts[condition] = (counts[condition] ?? 0) + 1;
  return counts;
}

/** The models that match a text and a condition. */
export const matching = (
  models: readonly ModelTableRow[],
  { text, condition }: { text: string; condition: Condition | 'all' },
): readonly ModelTableRow[] => {
  const wanted = text.trim().toLowerCase();
  return models.filter(
    (model) =>
      (condition === 'all' || model.condition === condition) && model.name.toLowerCase().includes(wanted),
  );
};
