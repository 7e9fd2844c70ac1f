import type { Named } from './choices.ts';
import { ENDS } from './ends.ts';
import type { RequestChoice } from './filter.ts';

interface Known {
  readonly keys: readonly Named[];
  readonly models: readonly Named[];
}

const RESULTS = ['answered', 'errors', ...ENDS.map(({ id }) => id)];

/** What a filter asks for that does not exist, in sentences. */
export function unknownIn({ key, model, outcome }: RequestChoice, { keys, models }: Known): string[] {
  const lacks = (known: readonly Named[], wanted: string) =>
    wanted !== '' && known.every(({ id }) => id !== wanted);
  return [
    ...(lacks(keys, key) ? ['There is no key with this id. If there was one, it has been deleted.'] : []),
    ...(lacks(models, model)
      ? ['There is no model with this id. If there was one, it has been deleted.']
      : []),
    ...(outcome !== '' && !RESULTS.includes(outcome) ? ['No request can end with this result.'] : []),
  ];
}
