import { countText } from './table.ts';

/** Shown in place of a missing value. */
export const NONE = '-';

export const milliseconds = (ms: number | null): string => (ms === null ? NONE : `${countText(ms)} ms`);

/** A key with the first characters of its value, if they are known. */
export const keyText = ({
  key,
  keyPrefix,
}: {
  readonly key: string;
  readonly keyPrefix: string | null;
}): string => (keyPrefix === null ? key : `${key} (${keyPrefix}…)`);

export const modelText = ({
  model,
  modelDeleted,
}: {
  readonly model: string;
  readonly modelDeleted: boolean;
}): string => model + (modelDeleted ? ' (deleted)' : '');
