import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SIGNED_OUT } from '../session/words.ts';
import { eventsOf, refusalOf, type TryEvent } from './stream.ts';

const chunk = (part: object) => `data: ${JSON.stringify(part)}\n\n`;
const ANSWER = [
  chunk({ choices: [{ delta: { role: 'assistant', content: '' }, finish_reason: null }] }),
  chunk({ choices: [{ delta: { content: 'Tïde ' }, finish_reason: null }] }),
  chunk({ choices: [{ delta: { content: '🌊' }, finish_reason: 'length' }] }),
  chunk({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }),
  'data: [DONE]\n\n',
].join('');

async function read(pieces: Uint8Array[]): Promise<TryEvent[]> {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const events: TryEvent[] = [];
  for await (const event of eventsOf(stream)) events.push(event);
  return events;
}

describe('a streamed answer', () => {
  it('is the same however the network splits it', async () => {
    const bytes = new TextEncoder().encode(ANSWER);
    const expected: TryEvent[] = [
      { kind: 'text', text: 'Tïde ' },
      { kind: 'text', text: '🌊' },
      { kind: 'finish', reason: 'length' },
      { kind: 'usage', usage: { prompt_tokens: 3, completion_tokens: 2 } },
      { kind: 'done' },
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length })), async (cuts) => {
        const ends = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const pieces = ends.slice(1).map((end, i) => bytes.slice(ends[i], end));
        expect(await read(pieces)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  it('without [DONE] is never complete', async () => {
    const cut = new TextEncoder().encode(ANSWER.replace('data: [DONE]\n\n', ''));
    expect(await read([cut])).not.toContainEqual({ kind: 'done' });
  });

  it('may have comments and CRLF', async () => {
    const events = await read([new TextEncoder().encode(`: ping\n\n${ANSWER}`.replaceAll('\n', '\r\n'))]);
    expect(events).toHaveLength(5);
    expect(events.at(-1)).toEqual({ kind: 'done' });
  });

  it('is given up when an event never ends', async () => {
    const mebibyte = new Uint8Array(1024 * 1024).fill(0x78);
    const endless = [new TextEncoder().encode('data: '), mebibyte, mebibyte];
    await expect(read(endless)).rejects.toThrow('max buffer size');
  });
});

describe("an answer of the console's own", () => {
  it.each([
    [401, SIGNED_OUT],
    [403, 'The console refused this request.'],
    [413, 'This message is too large for the console. Send fewer or smaller images.'],
    [500, 'The console or its database did not answer. Try again.'],
    [503, 'The console or its database did not answer. Try again.'],
  ])('with status %i says what happened', async (status, message) => {
    const { code, message: said } = await refusalOf(new Response(null, { status }));
    expect({ code, said }).toEqual({ code: 'no answer', said: message });
  });
});
