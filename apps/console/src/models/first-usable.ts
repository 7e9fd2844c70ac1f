import type { Condition } from '@tidegate/control';

/**
 * Best first. Stopped and failed models are missing: they answer nothing until someone starts them.
 */
const USABLE: readonly Condition[] = ['running', 'asleep', 'starting'];

/** The model to show first: a running one, else an asleep one, else one that is starting. */
export const firstUsable = <M extends { readonly condition: Condition }>(
  models: readonly M[],
): M | undefined =>
  USABLE.map((wanted) => models.find(({ condition }) => condition === wanted)).find(Boolean);
