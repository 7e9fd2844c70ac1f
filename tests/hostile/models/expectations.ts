import { isDeepStrictEqual } from 'node:util';
import { expect } from '@jest/globals';
import { ERRORS } from '@tidegate/contracts';
import type { Answer } from '../../support/http.ts';
import type { Case, Counts, Sees } from './cases/case.ts';
import { CONTEXT_TOKENS, type Row } from './world.ts';

const ID = expect.stringMatching(/^chatcmpl-\w+$/);

/** Expects exactly this answer, down to the last field. */
export function expectSeen(answer: Answer, sees: Sees): void {
  expect(answer.headers['x-request-id']).toMatch(/^req_\w+$/);
  if (sees.kind === 'error') expectError(answer, sees);
  else if (sees.kind === 'whole') expectWhole(answer, sees);
  else expectStream(answer, sees);
}

type Kind<K extends Sees['kind']> = Extract<Sees, { kind: K }>;

function expectError(answer: Answer, { code, message }: Kind<'error'>): void {
  const { status, type } = ERRORS[code];
  expect(answer.json ?? answer.text.slice(0, 500)).toEqual({
    error: { message: message ?? expect.stringMatching(/\S/), type, code },
  });
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  expect(answer.headers['retry-after']).toBeUndefined();
}

function expectWhole(answer: Answer, { content, finish, usage }: Kind<'whole'>): void {
  expect(answer.json ?? answer.text.slice(0, 500)).toEqual({
    id: ID,
    object: 'chat.completion',
    created: expect.any(Number),
    model: 'tide',
    choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: finish }],
    usage,
  });
  expect(answer.status).toBe(200);
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
}

function expectStream(answer: Answer, sees: Kind<'stream'> | Kind<'incomplete'>): void {
  expect([answer.status, answer.code]).toEqual([200, undefined]);
  expect(answer.headers['content-type']).toMatch(/^text\/event-stream/);
  const events = answer.text.split('\n\n');
  expect(events.pop()).toBe('');
  expect(events.filter((event) => !/^data: [^\r\n]+$/.test(event))).toEqual([]);
  const data = events.map((event) => event.slice('data: '.length));
  const done = data.at(-1) === '[DONE]';
  const chunks = (done ? data.slice(0, -1) : data).map((text) => JSON.parse(text));
  const [first] = chunks;
  const identity = { id: ID, object: 'chat.completion.chunk', created: expect.any(Number), model: 'tide' };
  const same = { ...identity, id: first?.id, created: first?.created };
  expect(first).toMatchObject(identity);
  const expected = expectedChunks(sees).map((rest) => ({ ...same, ...rest }));
  // Jest's comparison takes seconds for the longest streams, so it runs only to say what differs.
  if (!isDeepStrictEqual(chunks, expected)) expect(chunks).toEqual(expected);
  expect([done, answer.over]).toEqual(sees.kind === 'stream' ? [true, true] : [false, false]);
}

function expectedChunks(sees: Kind<'stream'> | Kind<'incomplete'>): object[] {
  const finish = sees.kind === 'stream' ? sees.finish : null;
  const choice = (delta: object, finish_reason: string | null) => ({
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });
  return [
    choice({ role: 'assistant', content: '' }, null),
    ...sees.pieces.map((content, i) => choice({ content }, i === sees.pieces.length - 1 ? finish : null)),
    ...(sees.kind === 'stream' ? [{ choices: [], usage: sees.usage }] : []),
  ];
}

/** Expects the request to be charged the reported tokens, or else the whole reservation. */
export function expectCounted(row: Row | undefined, counts: Counts): void {
  const charged = typeof counts === 'object' && 'prompt' in counts ? counts : null;
  const errorCode = typeof counts === 'object' && 'error' in counts ? counts.error : null;
  expect(row).toMatchObject({
    answered: errorCode === null,
    errorCode,
    promptTokens: charged?.prompt ?? null,
    completionTokens: charged?.completion ?? null,
    reservedTokens: CONTEXT_TOKENS,
    chargedTokens: charged ? charged.prompt + charged.completion : CONTEXT_TOKENS,
  });
}

/** The totals that the usage must show. */
export function totalsOf(all: readonly Counts[]) {
  const totals = { requests: 0, errors: 0, promptTokens: 0, completionTokens: 0, reservedTokens: 0 };
  for (const counts of all) {
    totals.requests++;
    if (typeof counts === 'object' && 'prompt' in counts) {
      totals.promptTokens += counts.prompt;
      totals.completionTokens += counts.completion;
    } else {
      totals.reservedTokens += CONTEXT_TOKENS;
      totals.errors += counts === 'unreported' ? 0 : 1;
    }
  }
  return totals;
}

export const countsOf = (cases: readonly Case[]): Counts[] => cases.map(({ counts }) => counts);
