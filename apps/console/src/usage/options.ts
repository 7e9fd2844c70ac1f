import { isPageKey, PAGE_KEYS } from '@tidegate/contracts';
import { PAGE_KEY, type UsageRowView } from '@tidegate/control';
import type { UsageChoice } from './filter.ts';

export interface Option {
  readonly id: string;
  readonly text: string;
}

export interface Options {
  readonly keys: readonly Option[];
  readonly models: readonly Option[];
}

/**
 * The names of a chosen key or model that is in no row. Null: the organization has none with this
 * id. Undefined: it is in a row, or nothing is chosen.
 */
export interface UnusedNames {
  readonly key?: string | null | undefined;
  readonly model?: string | null | undefined;
}

/** The keys and the models of rows, busiest first, to choose from; and what is chosen. */
export const optionsOf = (
  rows: readonly UsageRowView[],
  { keyId, modelId }: UsageChoice,
  unused: UnusedNames,
): Options => ({
  keys: keyOptions(rows, keyId, unused.key),
  models: modelOptions(rows, modelId, unused.model),
});

/** The options that stand for what is chosen. */
export const chosenOf = (options: Options, { keyId, modelId }: UsageChoice): Options => ({
  keys: options.keys.filter(({ id }) => id === '' || id === keyId),
  models: options.models.filter(({ id }) => id === '' || id === modelId),
});

const SHOWN_ID_CHARACTERS = 4;

function keyOptions(
  rows: readonly UsageRowView[],
  chosen: string,
  unused: UnusedNames['key'],
): readonly Option[] {
  const names = new Map(
    rows.map(({ keyId, key, keyPrefix }) => [keyId, keyOptionText(keyId, key, keyPrefix)]),
  );
  if (chosen && !names.has(chosen)) names.set(chosen, unused ?? 'No such key');
  return [{ id: '', text: 'All keys' }, ...[...names].map(([id, text]) => ({ id, text }))];
}

/**
 * Tells keys of the same name apart. Rows have page keys only in sum, but an address may name one.
 */
export function keyOptionText(keyId: string, key: string, keyPrefix: string | null): string {
  if (isPageKey(keyId)) return `${PAGE_KEY} (…${keyId.slice(-SHOWN_ID_CHARACTERS)})`;
  if (keyPrefix !== null) return `${key} · ${keyPrefix}…`;
  return keyId === PAGE_KEYS ? key : `${key} (…${keyId.slice(-SHOWN_ID_CHARACTERS)})`;
}

function modelOptions(
  rows: readonly UsageRowView[],
  chosen: string,
  unused: UnusedNames['model'],
): readonly Option[] {
  const names = new Map(
    rows.map(({ modelId, model, modelDeleted }) => [modelId, modelDeleted ? `${model} (deleted)` : model]),
  );
  if (chosen && !names.has(chosen)) names.set(chosen, unused ?? 'No such model');
  return [{ id: '', text: 'All models' }, ...[...names].map(([id, text]) => ({ id, text }))];
}
