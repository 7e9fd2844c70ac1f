import type { Condition } from '@tidegate/control';

/** Best first. A stopped or failed model answers nothing until someone starts it. */
const USABLE: readonly Condition[] = ['running', 'asleep', 'starting'];

/** The model to show first: one that runs, else one that a request wakes, else one that starts. */
export const firstUsable = <M extends { readonly condition: Condition }>(
  models: readonly M[],
): M | undefined =>
  USABLE.map((wanted) => models.find(({ condition }) => condition === wanted)).find(Boolean);
