import {
  ANSWER,
  answer,
  chunk,
  chunkedHead,
  DONE,
  delta,
  event,
  HEL,
  head,
  LAST_CHUNK,
  LO,
  USAGE,
  usageChunk,
  whole,
} from '../bytes.ts';
import type { Play } from '../server.ts';
import {
  answered,
  brokenOff,
  type Case,
  failed,
  failedBoth,
  MODEL_FAILED_TEXT,
  relayed,
  says,
} from './case.ts';

/** Answers of exactly the largest size allowed, and larger ones. */

const MIB = 1024 * 1024;
const KIB = 1024;

const TOO_LARGE = "The model's answer is too large.";
const JSON_TYPE = 'content-type: application/json';

/**
 * The most that a model may send in an answer. Here most of it is in fields that are not relayed.
 */
const [RECEIVED_WHOLE, RECEIVED_STREAM, RECEIVED_EVENT] = [8 * MIB, 32 * MIB, 4 * MIB];
/** An answer of exactly `bytes` bytes, most of them in a field that is not relayed. */
const answerOf = (bytes: number) => padded(ANSWER, bytes, '{"pad":""');
function padded(json: string, bytes: number, pad: string): string {
  const bare = json.replace('{', `${pad},`);
  return bare.replace('"pad":"', `"pad":"${'x'.repeat(bytes - bare.length)}`);
}
/** An event of exactly `bytes` bytes, including its blank line. */
const eventOf = (bytes: number) =>
  event(padded(JSON.stringify(delta('Hel')), bytes - event('').length, '{"pad":""'));

/** The id, time and model name of relayed answers have these lengths. */
const RELAYED = { id: `chatcmpl-${'x'.repeat(24)}`, created: 1_700_000_000, model: 'tide' };
const relayedChunk = (delta: object, finish_reason: string | null = null) =>
  event({
    ...RELAYED,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  }).length;
/** Text for a relayed answer of exactly `bytes` bytes. */
const textOfWhole = (bytes: number) => {
  const choice = {
    index: 0,
    message: { role: 'assistant', content: '' },
    logprobs: null,
    finish_reason: 'stop',
  };
  const bare = { ...RELAYED, object: 'chat.completion', choices: [choice], usage: USAGE };
  return 'x'.repeat(bytes - JSON.stringify(bare).length);
};
/** Text for a relayed event of exactly `bytes` bytes. */
const textOfEvent = (bytes: number) => 'x'.repeat(bytes - relayedChunk({ content: '' }));
/**
 * Pieces of text for a relayed stream of exactly `bytes` bytes. Each piece but the last is one
 * character.
 */
function piecesOf(bytes: number): string[] {
  const usage = event({ ...RELAYED, object: 'chat.completion.chunk', choices: [], usage: USAGE });
  const frame = relayedChunk({ role: 'assistant', content: '' }) + relayedChunk({ content: '' }, 'stop');
  let left = bytes - frame - usage.length - DONE.length;
  const pieces: string[] = [];
  for (const one = relayedChunk({ content: 'x' }); left > 2 * one; left -= one) pieces.push('x');
  return [...pieces, textOfEvent(left)];
}
/** A busy server sends many events in one write. */
const EVENTS_A_WRITE = 1_000;
function inPieces(pieces: readonly string[]): Play {
  const events = pieces.map((text) => event({ choices: [{ delta: { content: text } }] }));
  const writes: string[] = [];
  for (let i = 0; i < events.length; i += EVENTS_A_WRITE)
    writes.push(events.slice(i, i + EVENTS_A_WRITE).join(''));
  return chunks(...writes, event(delta('', 'stop')) + TAIL);
}
/** A stream of exactly `bytes` bytes, padded with comments. */
function filled(begin: string, end: string, bytes: number): string[] {
  let left = bytes - Buffer.byteLength(begin + end);
  const comments: string[] = [];
  for (; left > 0; left -= comments.at(-1)?.length ?? left) {
    comments.push(`:${'x'.repeat(Math.min(left, 512 * KIB) - 3)}\n\n`);
  }
  return [begin, ...comments, end];
}
const TAIL = event(usageChunk(USAGE)) + DONE;
const chunks = (...pieces: string[]) =>
  says(chunkedHead(), ...pieces.map((piece) => chunk(piece)), LAST_CHUNK);

const WHOLE = textOfWhole(2 * MIB);
const EVENT = textOfEvent(MIB);
const STREAM = piecesOf(8 * MIB);

export const SIZES: readonly Case[] = [
  answered('2 MiB [limit.whole-answer]', says(whole(JSON.stringify(answer(WHOLE)))), { content: WHOLE }),
  failed('2 MiB and a byte [limit.whole-answer]', says(whole(JSON.stringify(answer(`${WHOLE}x`)))), {
    message: TOO_LARGE,
    connection: 'kept',
  }),
  answered('8 MiB, most of it not relayed', says(whole(answerOf(RECEIVED_WHOLE)))),
  failed('8 MiB and a byte, most of it not relayed', says(whole(answerOf(RECEIVED_WHOLE + 1))), {
    message: TOO_LARGE,
  }),
  failed(
    '8 MiB and a byte, in chunks',
    says(chunkedHead(JSON_TYPE), chunk(answerOf(RECEIVED_WHOLE + 1)), LAST_CHUNK),
    { message: TOO_LARGE },
  ),
  failed('an answer without end', endless(head('200 OK', JSON_TYPE)), { message: TOO_LARGE }),
  failed(
    'an answer without end, in chunks',
    endless(chunkedHead(JSON_TYPE), (bytes) => chunk(bytes)),
    { message: TOO_LARGE },
  ),
  ...failedBoth('bytes without end and without a head', endless(''), { message: MODEL_FAILED_TEXT }),
  relayed('an event of 1 MiB [limit.stream.event]', chunks(event(delta(EVENT)), LO, TAIL), {
    pieces: [EVENT, 'lo'],
  }),
  failed('a first event of 1 MiB and a byte', chunks(event(delta(`${EVENT}x`)), LO, TAIL), {
    streamed: true,
    message: TOO_LARGE,
  }),
  brokenOff(
    'an event of 1 MiB and a byte [limit.stream.event]',
    chunks(HEL, event(delta(`${EVENT}x`)), LO, TAIL),
    'stream_limit',
  ),
  relayed('an event of 4 MiB, most of it not relayed', chunks(eventOf(RECEIVED_EVENT), LO, TAIL)),
  failed('a first event of 4 MiB and a byte', chunks(eventOf(RECEIVED_EVENT + 1), LO, TAIL), {
    streamed: true,
    message: TOO_LARGE,
  }),
  brokenOff(
    'an event of 4 MiB and a byte',
    chunks(HEL, eventOf(RECEIVED_EVENT + 1), LO, TAIL),
    'stream_limit',
  ),
  failed(
    'a first line without end',
    endless(chunkedHead(), (bytes) => chunk(bytes)),
    { streamed: true, message: TOO_LARGE },
  ),
  brokenOff(
    'a line without end',
    endless(`${chunkedHead()}${chunk(`${HEL}data: `)}`, (bytes) => chunk(bytes)),
    'stream_limit',
  ),
  relayed('8 MiB [limit.stream.size]', inPieces(STREAM), { pieces: [...STREAM, ''] }),
  brokenOff(
    '8 MiB and a byte [limit.stream.size]',
    inPieces([...STREAM.slice(0, -1), `${STREAM.at(-1)}x`]),
    'stream_limit',
    {
      pieces: [...STREAM.slice(0, -1), `${STREAM.at(-1)}x`],
    },
  ),
  relayed('32 MiB, most of it not relayed', chunks(...filled(HEL + LO, TAIL, RECEIVED_STREAM))),
  brokenOff('32 MiB and a byte', chunks(...filled(HEL + LO, TAIL, RECEIVED_STREAM + 1)), 'stream_limit', {
    pieces: ['Hel', 'lo'],
  }),
  failed(
    'comments without end',
    endless(chunkedHead(), () => chunk(`: ${'x'.repeat(8_192)}\n\n`)),
    { streamed: true, message: TOO_LARGE },
  ),
];

function endless(begin: string, frame = (bytes: string): string | Buffer => bytes): Play {
  const bytes = frame('x'.repeat(64 * KIB));
  return async (wire) => {
    await wire.write(begin);
    while (await wire.write(bytes));
  };
}
