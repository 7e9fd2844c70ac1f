import type { Condition } from '@tidegate/control';

/** Best first. A model that has been stopped, or has failed, answers nothing until someone does something about it. */
const USABLE: readonly Condition[] = ['running', 'asleep', 'starting'];

/** The model to show when nobody has chosen one: one that answers now, else one that a request wakes, else one that starts. */
export const firstUsable = <M extends { readonly condition: Condition }>(
  models: readonly M[],
): M | undefined =>
  USABLE.map((wanted) => models.find(({ condition }) => condition === wanted)).find(Boolean);
