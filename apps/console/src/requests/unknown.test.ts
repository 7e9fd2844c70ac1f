import { describe, expect, it } from '@jest/globals';
import { unknownIn } from './unknown.ts';

const KNOWN = { keys: [{ id: 'key_1', name: 'One' }], models: [{ id: 'mdl_1', name: 'one' }] };
const ALL = { key: '', model: '', outcome: '', from: '', to: '', id: '' };

describe('a filter of requests', () => {
  it.each([{}, { key: 'key_1', model: 'mdl_1' }, { outcome: 'errors' }, { outcome: 'upstream_error' }])(
    'for %j asks for nothing unknown',
    (part) => expect(unknownIn({ ...ALL, ...part }, KNOWN)).toEqual([]),
  );

  it('says what does not exist', () => {
    expect(unknownIn({ ...ALL, key: 'nope', model: 'mdl_1', outcome: 'invalid_json' }, KNOWN)).toEqual([
      'There is no key with this id. If there was one, it has been deleted.',
      'No request can end with this result.',
    ]);
    expect(unknownIn({ ...ALL, model: 'nope' }, KNOWN)).toEqual([
      'There is no model with this id. If there was one, it has been deleted.',
    ]);
  });
});
