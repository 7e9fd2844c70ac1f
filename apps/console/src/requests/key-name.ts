import { isPageKey, PAGE_KEYS } from '@tidegate/contracts';
import { PAGE_KEY } from '@tidegate/control';
import { keyOptionText } from '../usage/options.ts';
import type { Named } from './choices.ts';

interface Key {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
}

/**
 * Keys to choose from. Several may have the same name. All page keys are one choice. A single page
 * key is another, but only if it is chosen.
 */
export const keyChoices = (keys: readonly Key[], chosen = ''): Named[] => [
  ...keys
    .filter(({ id }) => !isPageKey(id))
    .map(({ id, name, prefix }) => ({ id, name: keyOptionText(id, name, prefix) })),
  { id: PAGE_KEYS, name: PAGE_KEY },
  ...(isPageKey(chosen) ? [{ id: chosen, name: keyOptionText(chosen, PAGE_KEY, null) }] : []),
];
