import { isPageKey, PAGE_KEYS } from '@tidegate/contracts';
import { PAGE_KEY } from '@tidegate/control';
import type { Named } from './choices.ts';

interface Key {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
}

/** Keys to choose from. Several may have the same name. Page keys are one choice, the last. */
export const keyChoices = (keys: readonly Key[]): Named[] => [
  ...keys
    .filter(({ id }) => !isPageKey(id))
    .map(({ id, name, prefix }) => ({ id, name: `${name} · ${prefix}…` })),
  { id: PAGE_KEYS, name: PAGE_KEY },
];
