import { describe, expect, it } from '@jest/globals';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, OPERATOR, refusal } from './fixture.ts';
import { nulFault } from './nul.ts';
import type { Result } from './result.ts';

const db = ownTestDb();

type Operation = (actor: unknown, input: unknown) => Promise<Result<unknown>>;

describe('a text with NUL', () => {
  it('is refused by every operation, with the field that has it', async () => {
    const { control, org } = createFixture(db(), testClock().now);
    const own = await org('Without NUL');
    for (const [name, operation] of Object.entries(control) as [string, Operation][]) {
      const texts = { id: 'x\u0000', name: 'ok', email: 'a@example.com', token: 't' };
      const answer = refusal(await operation(OPERATOR, { org: own, ...texts }));
      expect({ name, ...answer }).toMatchObject({
        name,
        code: 'invalid_input',
        field: 'id',
        message: 'The field id must not contain the character NUL (U+0000).',
      });
    }
  });

  it('is found at any depth, under the name of the input field', () => {
    expect(nulFault({ org: 'demo', models: ['a', 'b\u0000'] })?.field).toBe('models');
    expect(nulFault({ org: 'demo', server: { url: { deep: ['\u0000'] } } })?.field).toBe('server');
    expect(nulFault({ org: 'demo', models: ['a\\u0000'], days: 0 })).toBeNull();
  });

  it('is looked for in inputs of any shape', () => {
    for (const input of [undefined, null, 0, 'x', [], new Date()]) expect(nulFault(input)).toBeNull();
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(nulFault(circle)).toBeNull();
    let deep: unknown = [];
    for (let i = 0; i < 100_000; i++) deep = [deep, deep];
    expect(nulFault({ deep })).toBeNull();
  });
});
