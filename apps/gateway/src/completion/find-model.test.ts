import { expect, it } from '@jest/globals';
import { modelNotFound } from './find-model.ts';

it('the refusal of an unknown model names it, up to 100 characters', () => {
  const longest = 'x'.repeat(100);
  expect(modelNotFound(longest).message).toContain(`'${longest}'`);
  expect(modelNotFound(`${longest}x`).message).not.toContain(longest);
});
