import {
  ANSWER,
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
  usageChunk,
  whole,
} from '../bytes.ts';
import type { Play } from '../server.ts';
import {
  brokenOff,
  type Case,
  failed,
  failedBoth,
  MODEL_FAILED_TEXT,
  proving,
  relayed,
  says,
} from './case.ts';

/** Answers that are too long, too late, or break off. */

type Wire = Parameters<Play>[0];

const LATE = 'The model did not answer in time.';
const JSON_TYPE = 'content-type: application/json';
const TAIL = event(usageChunk()) + DONE;

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

/** The longest pause that the gateway allows. */
export const STREAM_PAUSE_MS = 7_000;
const PAUSE_MS = 1_000;
const PAUSING = [...Array<string>(STREAM_PAUSE_MS / PAUSE_MS).fill('Hel'), 'lo'];

/** The cases that take longest come first. */
export const TIMES: readonly Case[] = proving('whole', '[limit.whole-answer]', [
  brokenOff(
    'a stream without end [limit.stream.always-on]',
    every(100, chunkedHead(), chunk(HEL), chunk(event(delta('')))),
    'stream_limit',
    slow,
  ),
  relayed('pauses within the limit, longer than it together', pausing, { pieces: PAUSING }, slow),
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
  brokenOff('a pause [limit.stream.pause]', stays(chunkedHead(), chunk(HEL)), 'stream_limit', slow),
  brokenOff(
    'a pause with keep-alives [limit.stream.pause]',
    every(100, chunkedHead(), chunk(HEL), chunk(': keep-alive\n\n')),
    'stream_limit',
    slow,
  ),
  brokenOff(
    'a pause with bytes of an event [limit.stream.pause]',
    every(100, chunkedHead(), chunk(`${HEL}data: `), chunk('x')),
    'stream_limit',
    slow,
  ),
  brokenOff(
    'a pause after the finish reason [limit.stream.pause]',
    stays(chunkedHead(), chunk(HEL, LO)),
    'stream_limit',
    {
      ...slow,
      pieces: ['Hel', 'lo'],
    },
  ),
]);

async function pausing(wire: Wire): Promise<void> {
  const events = PAUSING.map((piece) => event(delta(piece, piece === 'lo' ? 'stop' : null)));
  for (const bytes of [chunkedHead(), ...events.map((one) => chunk(one)), chunk(TAIL), LAST_CHUNK]) {
    await wire.write(bytes);
    await wire.pause(PAUSE_MS);
  }
}

/** The pause lets the gateway read what came before, because a RST discards unread bytes. */
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
    ...failedBoth(name('before the head'), breaks(how), { ...ended, message: MODEL_FAILED_TEXT }),
    ...failedBoth(name('within the head'), breaks(how, 'HTTP/1.1 200 OK\r\ncontent-ty'), {
      ...ended,
      message: MODEL_FAILED_TEXT,
    }),
    ...failedBoth(name('after the head'), breaks(how, chunkedHead()), {
      ...ended,
      message: MODEL_FAILED_TEXT,
    }),
    failed(name('within the answer'), breaks(how, whole(ANSWER).subarray(0, -9)), {
      ...ended,
      message: MODEL_FAILED_TEXT,
    }),
    failed(name('within the first event'), breaks(how, chunkedHead(), chunk(HEL.slice(0, 20))), {
      ...ended,
      streamed: true,
      message: MODEL_FAILED_TEXT,
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
