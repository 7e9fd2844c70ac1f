import { PAGE_KEYS } from '@tidegate/contracts';
import type { UsageRowView } from '@tidegate/control';
import type { UsageChoice } from './filter.ts';

export interface Option {
  readonly id: string;
  readonly text: string;
}

export interface Options {
  readonly keys: readonly Option[];
  readonly models: readonly Option[];
}

/** The keys and the models of rows, busiest first, to choose from; and what is chosen. */
export const optionsOf = (rows: readonly UsageRowView[], { keyId, modelId }: UsageChoice): Options => ({
  keys: keyOptions(rows, keyId),
  models: modelOptions(rows, modelId),
});

/** The options that stand for what is chosen. */
export const chosenOf = (options: Options, { keyId, modelId }: UsageChoice): Options => ({
  keys: options.keys.filter(({ id }) => id === '' || id === keyId),
  models: options.models.filter(({ id }) => id === '' || id === modelId),
});

const DELETED_ID_CHARACTERS = 4;

function keyOptions(rows: readonly UsageRowView[], chosen: string): readonly Option[] {
  const names = new Map(rows.map(({ keyId, key, keyPrefix }) => [keyId, nameOf(keyId, key, keyPrefix)]));
  if (chosen && !names.has(chosen)) names.set(chosen, 'A key without requests');
  return [{ id: '', text: 'All keys' }, ...[...names].map(([id, text]) => ({ id, text }))];
}

function nameOf(keyId: string, key: string, keyPrefix: string | null): string {
  if (keyPrefix !== null) return `${key} · ${keyPrefix}…`;
  return keyId === PAGE_KEYS ? key : `${key} (…${keyId.slice(-DELETED_ID_CHARACTERS)})`;
}

function modelOptions(rows: readonly UsageRowView[], chosen: string): readonly Option[] {
  const names = new Map(
    rows.map(({ modelId, model, modelDeleted }) => [modelId, modelDeleted ? `${model} (deleted)` : model]),
  );
  if (chosen && !names.has(chosen)) names.set(chosen, 'A model without requests');
  return [{ id: '', text: 'All models' }, ...[...names].map(([id, text]) => ({ id, text }))];
}
