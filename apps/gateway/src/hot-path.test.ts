import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

/** Every completion runs these. */
const FILES = [
  ...['admit', 'call-model', 'fit', 'holdings', 'pipeline', 'settlement', 'stream-sink'].map(
    (name) => `completion/${name}`,
  ),
  ...['admission', 'calls', 'link', 'unacknowledged'].map((name) => `limiter/${name}`),
  ...['send', 'stream-call', 'stream-rewriter', 'upstream-call', 'whole-call'].map(
    (name) => `upstream/${name}`,
  ),
  ...['deliver', 'exchange', 'respond'].map((name) => `http/${name}`),
  'auth/authenticate',
  'observe/observer',
];
/** An object that begins with the copy of another. */
const COPY = /\{\s*\.\.\.[\w.#(]+/g;

describe('what every completion runs', () => {
  it('makes no object that begins with the copy of another, which costs Node 20 microseconds', () => {
    const copies = FILES.flatMap((name) => {
      const source = readFileSync(join(import.meta.dirname, `${name}.ts`), 'utf8');
      return [...source.matchAll(COPY)].map(([copy]) => `${name}.ts: ${copy}`);
    });
    expect(copies).toEqual([]);
  });
});
