import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';

/**
 * In a container that V8 has moved to its old space, replaces 32 values of 2 kB with 32 others, a
 * thousand times. Prints by how many bytes that space grew. With a Set, that is over a megabyte.
 */
const PROGRAM = (container: string) => `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { LinkedList } from ${JSON.stringify(new URL('../dist/linked-list.js', import.meta.url))};
  import { OpenCalls } from ${JSON.stringify(new URL('../dist/limiter/open-calls.js', import.meta.url))};
  const { add, end } = (${container})();
  const oldBytes = () => getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size;
  const content = () => new Array(250).fill(0);
  const newValue = () => ({ previous: null, next: null, listed: false, content: content() });
  let open = [];
  const turn = () => {
    const values = Array.from({ length: 32 }, newValue);
    values.forEach(add);
    open.forEach(end);
    open = values;
  };
  turn();
  for (let i = 0; i < 3; i++) gc({ type: 'minor' });
  const before = oldBytes();
  for (let i = 0; i < 1_000; i++) {
    turn();
    if (i % 10 === 0) gc({ type: 'minor' });
  }
  console.log(oldBytes() - before);
`;

const LIST = `() => {
  const list = new LinkedList();
  return { add: (value) => list.add(value), end: (value) => list.delete(value) };
}`;
const CALLS = `() => {
  const calls = new OpenCalls();
  const add = (value) => {
    value.number = calls.nextNumber;
    calls.add(value);
  };
  return { add, end: ({ number }) => calls.take(number) };
}`;

describe('what holds each request for a short time', () => {
  it.each([
    ['a linked list', LIST],
    ['open calls', CALLS],
  ])('leaves V8 nothing that only a full collection frees: %s', (_what, container) => {
    const args = ['--expose-gc', '--input-type=module', '--eval', PROGRAM(container)];
    const output = execFileSync(process.execPath, args, { encoding: 'utf8' });
    expect(Number(output)).toBeLessThan(200_000);
  });
});
