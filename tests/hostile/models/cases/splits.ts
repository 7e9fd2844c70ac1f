import fc from 'fast-check';
import { chunk, chunkedHead, DONE, delta, event, LAST_CHUNK, USAGE, usageChunk, whole } from '../bytes.ts';
import type { Play } from '../server.ts';
import type { Sees } from './case.ts';

/** Long enough that an idle machine reads the pieces one by one. */
const APART_MS = 3;
const TEXT = 'é漢😀';

const small = (content: string, finish_reason: string | null) =>
  JSON.stringify({ choices: [{ delta: { content }, finish_reason }] });

/**
 * The wire bytes of a short answer with characters of two, three and four bytes and both usual line
 * endings.
 */
export const STREAM_BYTES = Buffer.concat([
  Buffer.from(chunkedHead()),
  chunk(event(small(TEXT, null)), event(small(TEXT, 'stop'), '\r\n')),
  chunk(event({ choices: [], usage: USAGE }) + DONE),
  Buffer.from(LAST_CHUNK),
]);
export const STREAM_SEEN: Sees = { kind: 'stream', pieces: [TEXT, TEXT], finish: 'stop', usage: USAGE };

export const WHOLE_BYTES = whole(
  JSON.stringify({ choices: [{ message: { content: TEXT }, finish_reason: 'stop' }], usage: USAGE }),
);
export const WHOLE_SEEN: Sees = { kind: 'whole', content: TEXT, finish: 'stop', usage: USAGE };

const inPieces =
  (bytes: Uint8Array, cuts: readonly number[]): Play =>
  async (wire) => {
    let start = 0;
    for (const cut of [...cuts, bytes.length]) {
      await wire.write(bytes.subarray(start, cut));
      await wire.pause(APART_MS);
      start = cut;
    }
  };

/** Cuts the bytes in two. Each call cuts one byte further on. */
export function cutEverywhere(bytes: Uint8Array): Play {
  let next = 1;
  return (wire) => inPieces(bytes, [next++])(wire);
}

const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const piece = fc.record({ text, lineEnd, comment: fc.constantFrom('', ':\n', ': ping\r\n\r\n', 'id: 1\r') });

/**
 * Any text in any pieces, in any form of events, cut anywhere: how it is sent, and what the client
 * receives.
 */
export const anyAnswer = fc
  .record({ pieces: fc.array(piece, { maxLength: 5 }), cuts: fc.array(fc.nat(1_500), { maxLength: 6 }) })
  .map(({ pieces, cuts }) => {
    const events = pieces.map(({ text, lineEnd, comment }) => comment + event(delta(text), lineEnd));
    const tail = event(delta('', 'stop')) + event(usageChunk()) + DONE;
    const bytes = Buffer.concat([
      Buffer.from(chunkedHead()),
      chunk(...events, tail),
      Buffer.from(LAST_CHUNK),
    ]);
    const within = cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b);
    const seen: Sees = {
      kind: 'stream',
      pieces: [...pieces.map(({ text }) => text).filter((text) => text !== ''), ''],
      finish: 'stop',
      usage: USAGE,
    };
    return { play: inPieces(bytes, within), seen };
  });
