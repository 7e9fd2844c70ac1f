import {
  ANSWER,
  answer,
  chunk,
  chunkedHead,
  DONE,
  delta,
  event,
  HEL,
  HELLO,
  head,
  LAST_CHUNK,
  LO,
  USAGE,
  usageChunk,
  whole,
} from '../bytes.ts';
import type { Play } from '../server.ts';
import { answered, brokenOff, type Case, failed, failedBoth, relayed, says } from './case.ts';

/** Answers that are too large, too long, too late, or go away. */

const MIB = 1024 * 1024;
const KIB = 1024;
type Wire = Parameters<Play>[0];

const TOO_LARGE = 'The answer of the model is too large.';
const LATE = 'The model did not answer in time.';
const FAILED = 'The model failed to answer.';
const JSON_TYPE = 'content-type: application/json';

/** What a model may send of an answer, most of it in what is not relayed. */
const [RECEIVED_WHOLE, RECEIVED_STREAM, RECEIVED_EVENT] = [8 * MIB, 32 * MIB, 4 * MIB];
/** An answer of exactly so many bytes, most of them in a field that is not relayed. */
const answerOf = (bytes: number) => padded(ANSWER, bytes, '{"pad":""');
function padded(json: string, bytes: number, pad: string): string {
  const bare = json.replace('{', `${pad},`);
  return bare.replace('"pad":"', `"pad":"${'x'.repeat(bytes - bare.length)}`);
}
/** An event of exactly so many bytes, its blank line included. */
const eventOf = (bytes: number) =>
  event(padded(JSON.stringify(delta('Hel')), bytes - event('').length, '{"pad":""'));

/** What is relayed has an id, a time and a name of this length. */
const RELAYED = { id: `chatcmpl-${'x'.repeat(24)}`, created: 1_700_000_000, model: 'tide' };
const relayedChunk = (delta: object, finish_reason: string | null = null) =>
  event({
    ...{ ...RELAYED, object: 'chat.completion.chunk' },
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  }).length;
/** Text that makes a relayed answer of exactly so many bytes. */
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
/** Text that makes a relayed event of exactly so many bytes. */
const textOfEvent = (bytes: number) => 'x'.repeat(bytes - relayedChunk({ content: '' }));
/** Pieces of text that make a relayed stream of exactly so many bytes, each but the last of one character. */
function piecesOf(bytes: number): string[] {
  const usage = event({ ...RELAYED, object: 'chat.completion.chunk', choices: [], usage: USAGE });
  const frame = relayedChunk({ role: 'assistant', content: '' }) + relayedChunk({ content: '' }, 'stop');
  let left = bytes - frame - usage.length - DONE.length;
  const pieces: string[] = [];
  for (const one = relayedChunk({ content: 'x' }); left > 2 * one; left -= one) pieces.push('x');
  return [...pieces, textOfEvent(left)];
}
const inPieces = (pieces: readonly string[]) =>
  chunks(
    ...pieces.map((text) => event({ choices: [{ delta: { content: text } }] })),
    event(delta('', 'stop')) + TAIL,
  );
/** The rest of a stream of exactly so many bytes, filled up with comments. */
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
  answered('2 MiB', says(whole(JSON.stringify(answer(WHOLE)))), { content: WHOLE }),
  failed('2 MiB and a byte', says(whole(JSON.stringify(answer(`${WHOLE}x`)))), {
    ...{ message: TOO_LARGE, connection: 'kept' },
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
  ...failedBoth('bytes without end and without a head', endless(''), { message: FAILED }),
  relayed('an event of 1 MiB', chunks(event(delta(EVENT)), LO, TAIL), { pieces: [EVENT, 'lo'] }),
  failed('a first event of 1 MiB and a byte', chunks(event(delta(`${EVENT}x`)), LO, TAIL), {
    ...{ streamed: true, message: TOO_LARGE },
  }),
  brokenOff('an event of 1 MiB and a byte', chunks(HEL, event(delta(`${EVENT}x`)), LO, TAIL), 'stream_limit'),
  relayed('an event of 4 MiB, most of it not relayed', chunks(eventOf(RECEIVED_EVENT), LO, TAIL)),
  failed('a first event of 4 MiB and a byte', chunks(eventOf(RECEIVED_EVENT + 1), LO, TAIL), {
    ...{ streamed: true, message: TOO_LARGE },
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
  relayed('8 MiB', inPieces(STREAM), { pieces: [...STREAM, ''] }),
  brokenOff('8 MiB and a byte', inPieces([...STREAM.slice(0, -1), `${STREAM.at(-1)}x`]), 'stream_limit', {
    pieces: [...STREAM.slice(0, -1), `${STREAM.at(-1)}x`],
  }),
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

const every = (ms: number, ...bytes: (string | Buffer)[]): Play =>
  async function repeat(wire: Wire) {
    await says(...bytes.slice(0, -1))(wire);
    while ((await wire.write(bytes.at(-1) ?? '')) && (await wire.pause(ms)));
  };
const stays = (...bytes: (string | Buffer)[]): Play =>
  async function stay(wire: Wire) {
    await says(...bytes)(wire);
    await wire.closed;
  };
const slow = { slow: true } as const;
const BLANKS = ' ';

export const TIMES: readonly Case[] = [
  ...failedBoth('silence', stays(), { ...slow, message: LATE }),
  ...failedBoth('silence after the head', stays(chunkedHead()), { ...slow, message: LATE }),
  ...failedBoth('a head a byte at a time', every(100, 'HTTP/1.1 200 OK\r\nx-slow: ', 'x'), {
    ...slow,
    message: LATE,
  }),
  ...failedBoth('interim answers without end', every(100, head('102 Processing')), {
    ...slow,
    message: LATE,
  }),
  failed('an answer a byte at a time', every(100, chunkedHead(JSON_TYPE), chunk(BLANKS)), {
    ...slow,
    message: LATE,
  }),
  failed('half an answer', stays(whole(ANSWER).subarray(0, -1)), { ...slow, message: LATE }),
  failed('keep-alives only', every(100, chunkedHead(), chunk(': keep-alive\n\n')), {
    ...slow,
    streamed: true,
    message: LATE,
  }),
  failed('half a first event', stays(chunkedHead(), chunk(HELLO.slice(0, 20))), {
    ...slow,
    streamed: true,
    message: LATE,
  }),
  brokenOff('a pause', stays(chunkedHead(), chunk(HEL)), 'stream_limit', slow),
  brokenOff(
    'a pause with keep-alives',
    every(100, chunkedHead(), chunk(HEL), chunk(': keep-alive\n\n')),
    'stream_limit',
    slow,
  ),
  brokenOff(
    'a pause with bytes of an event',
    every(100, chunkedHead(), chunk(`${HEL}data: `), chunk('x')),
    'stream_limit',
    slow,
  ),
  brokenOff('a pause after the finish reason', stays(chunkedHead(), chunk(HEL, LO)), 'stream_limit', {
    ...slow,
    pieces: ['Hel', 'lo'],
  }),
  brokenOff(
    'a stream without end',
    every(100, chunkedHead(), chunk(HEL), chunk(event(delta('')))),
    'stream_limit',
    slow,
  ),
  relayed('pauses within the limit', pausing, {}, slow),
];

async function pausing(wire: Wire): Promise<void> {
  for (const piece of [chunkedHead(), chunk(HEL), chunk(LO), chunk(TAIL), LAST_CHUNK]) {
    await wire.write(piece);
    await wire.pause(700);
  }
}

/** The caller must have read what came before: a RST overtakes it. */
const breaks = (how: 'end' | 'reset', ...bytes: (string | Buffer)[]): Play =>
  async function breakOff(wire: Wire) {
    await says(...bytes)(wire);
    if (bytes.length > 0) await wire.pause(150);
    wire[how]();
  };
const ended = { connection: 'ended' } as const;

export const BREAKS: readonly Case[] = (['end', 'reset'] as const).flatMap((how) => {
  const name = (when: string) => `${how === 'end' ? 'closed' : 'reset'} ${when}`;
  return [
    ...failedBoth(name('before the head'), breaks(how), { ...ended, message: FAILED }),
    ...failedBoth(name('within the head'), breaks(how, 'HTTP/1.1 200 OK\r\ncontent-ty'), {
      ...ended,
      message: FAILED,
    }),
    ...failedBoth(name('after the head'), breaks(how, chunkedHead()), { ...ended, message: FAILED }),
    failed(name('within the answer'), breaks(how, whole(ANSWER).subarray(0, -9)), {
      ...ended,
      message: FAILED,
    }),
    failed(name('within the first event'), breaks(how, chunkedHead(), chunk(HEL.slice(0, 20))), {
      ...ended,
      streamed: true,
      message: FAILED,
    }),
    brokenOff(name('after an event'), breaks(how, chunkedHead(), chunk(HEL)), 'upstream_error', ended),
    brokenOff(
      name('within an event'),
      breaks(how, chunkedHead(), chunk(HEL + LO.slice(0, 20))),
      'upstream_error',
      ended,
    ),
    brokenOff(
      name('after the finish reason'),
      breaks(how, chunkedHead(), chunk(HEL + LO)),
      'upstream_error',
      { ...ended, pieces: ['Hel', 'lo'] },
    ),
  ];
});
