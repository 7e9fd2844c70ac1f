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
  streamed,
  usageChunk,
  whole,
} from '../bytes.ts';
import type { Play } from '../server.ts';
import { answered, type Case, failed, failedBoth, relayed, says } from './case.ts';

/** Valid answers in unusual events and unusual HTTP. */

const singly = (bytes: Uint8Array) => [...bytes].map((byte) => Uint8Array.of(byte));
const withLineEnds = (lineEnd: string) => HELLO.replaceAll('\n', lineEnd);
const COMMENTED = HELLO.replaceAll('data: ', ': keep-alive\n\n:\n\n: a comment\ndata: ');
const FIELDS = HELLO.replaceAll('data: ', 'event: message\nid: 7\nretry: 10\nunknown: x\ndata: ');
const inTwoLines = (data: object) => `data: ${JSON.stringify(data).replace(',', ',\ndata: ')}\n\n`;
const SEVERAL_LINES = HEL + inTwoLines(delta('lo', 'stop')) + inTwoLines(usageChunk()) + DONE;

const untilClosed =
  (...pieces: (string | Uint8Array)[]): Play =>
  async (wire) => {
    await says(...pieces)(wire);
    wire.end();
  };
const SSE = 'content-type: text/event-stream';
const JSON_TYPE = 'content-type: application/json';

export const EVENTS: readonly Case[] = [
  relayed('as models do it', says(streamed(HELLO))),
  relayed('a byte at a time', says(...singly(streamed(HELLO)))),
  relayed('each byte a chunk of HTTP', says(streamed(...singly(Buffer.from(HELLO))))),
  relayed('lines end with CRLF', says(streamed(withLineEnds('\r\n')))),
  relayed('lines end with CR', says(streamed(withLineEnds('\r')))),
  relayed('comments and keep-alives between events', says(streamed(COMMENTED))),
  relayed('other fields beside the data', says(streamed(FIELDS))),
  relayed('several data lines an event', says(streamed(SEVERAL_LINES))),
  relayed('no space after the colon', says(streamed(HELLO.replaceAll('data: ', 'data:')))),
  relayed('a byte order mark first', says(streamed(`\uFEFF${HELLO}`))),
  relayed('the last event lacks its blank line', says(streamed(HELLO.trimEnd()))),
  relayed('declared as JSON', says(chunkedHead(JSON_TYPE), chunk(HELLO), LAST_CHUNK)),
  relayed('declared as plain text', says(chunkedHead('content-type: text/plain'), chunk(HELLO), LAST_CHUNK)),
  relayed('declared as nothing', says(chunkedHead('server: odd'), chunk(HELLO), LAST_CHUNK)),
];

const COMMA = ANSWER.indexOf(',');
export const HTTP: readonly Case[] = [
  answered('as models do it', says(whole(ANSWER))),
  answered('a byte at a time', says(...singly(whole(ANSWER)))),
  answered(
    'in chunks',
    says(chunkedHead(JSON_TYPE), chunk(ANSWER.slice(0, COMMA), ANSWER.slice(COMMA)), LAST_CHUNK),
  ),
  answered('declared as HTML', says(whole(ANSWER, { type: 'content-type: text/html' }))),
  answered('declared as an event stream', says(whole(ANSWER, { type: SSE }))),
  answered('a byte order mark first', says(whole(`\uFEFF${ANSWER}`))),
  answered('white space around it', says(whole(`\r\n\t ${ANSWER}\n\n`))),
  answered(
    'HTTP/1.0',
    untilClosed(`HTTP/1.0 200 OK\r\n${JSON_TYPE}\r\n\r\n${ANSWER}`),
    {},
    { connection: 'ended' },
  ),
  relayed('HTTP/1.0', untilClosed(`HTTP/1.0 200 OK\r\n${SSE}\r\n\r\n`, HELLO), {}, { connection: 'ended' }),
  answered(
    'no length, ended by closing',
    untilClosed(head('200 OK', JSON_TYPE), ANSWER),
    {},
    { connection: 'ended' },
  ),
  relayed(
    'no length, ended by closing',
    untilClosed(head('200 OK', SSE), HELLO),
    {},
    { connection: 'ended' },
  ),
  relayed('a length', says(whole(HELLO, { type: SSE }))),
  answered(
    'interim answers first',
    says(head('102 Processing'), head('103 Early Hints', 'link: </x>'), whole(ANSWER)),
  ),
  relayed('interim answers first', says(head('103 Early Hints', 'link: </x>'), streamed(HELLO))),
  answered(
    'a chunk extension and a trailer',
    says(chunkedHead(JSON_TYPE), `${ANSWER.length.toString(16)};a=b\r\n${ANSWER}\r\n0\r\nx-sum: 1\r\n\r\n`),
  ),
  answered(
    'not to be used again',
    says(head('200 OK', JSON_TYPE, 'connection: close', `content-length: ${ANSWER.length}`), ANSWER),
    {},
    { connection: 'closed' },
  ),
  answered(
    'more bytes than its length',
    says(Buffer.concat([whole(ANSWER), whole(ANSWER)])),
    {},
    { connection: 'closed' },
  ),
  relayed('never ends after [DONE]', says(chunkedHead(), chunk(HELLO)), {}, { connection: 'closed' }),
  relayed('goes on forever after [DONE]', goesOn, {}, { connection: 'closed' }),
  relayed('breaks off after [DONE]', resetAfter(chunkedHead(), chunk(HELLO)), {}, { connection: 'ended' }),
];

async function goesOn(wire: Parameters<Play>[0]): Promise<void> {
  await says(chunkedHead(), chunk(HELLO))(wire);
  while (await wire.write(chunk(event(delta('more'))))) await wire.pause(20);
}

function resetAfter(...pieces: (string | Uint8Array)[]): Play {
  return async (wire) => {
    await says(...pieces)(wire);
    // The gateway must read what was written before the RST arrives, because a RST discards unread
    // bytes.
    await wire.pause(100);
    wire.reset();
  };
}

const START = chunkedHead(JSON_TYPE);

/** Invalid HTTP, and HTTP whose headers contradict its body. */
export const BROKEN_HTTP: readonly Case[] = [
  ...failedBoth(
    'a length that the body does not reach',
    untilClosed(head('200 OK', JSON_TYPE, `content-length: ${ANSWER.length + 1}`), ANSWER),
    { connection: 'ended' },
  ),
  failed(
    'a length that cuts the answer',
    says(head('200 OK', JSON_TYPE, `content-length: ${ANSWER.length - 1}`), ANSWER),
  ),
  ...failedBoth('a length below zero', says(head('200 OK', JSON_TYPE, 'content-length: -5'), ANSWER)),
  ...failedBoth(
    'two lengths',
    says(head('200 OK', JSON_TYPE, 'content-length: 5', `content-length: ${ANSWER.length}`), ANSWER),
  ),
  ...failedBoth(
    'a length and chunks',
    says(
      head('200 OK', JSON_TYPE, 'content-length: 5', 'transfer-encoding: chunked'),
      chunk(ANSWER),
      LAST_CHUNK,
    ),
  ),
  ...failedBoth('an invalid chunk size', says(START, 'zz\r\n', ANSWER)),
  ...failedBoth('a chunk size beyond all numbers', says(START, `${'f'.repeat(40)}\r\n`, ANSWER)),
  ...failedBoth('a chunk longer than its size', says(START, `1\r\n${ANSWER}\r\n`, LAST_CHUNK)),
  ...failedBoth('no last chunk', untilClosed(START, chunk('{}')), { connection: 'ended' }),
  ...failedBoth('an interim answer that nobody asked for', says(head('100 Continue'), whole(ANSWER))),
  ...failedBoth(
    'another protocol',
    says(head('101 Switching Protocols', 'upgrade: websocket', 'connection: upgrade')),
  ),
  ...failedBoth('no HTTP', says('220 mail.example ESMTP\r\n')),
  ...failedBoth('an invalid status line', says('HTTP/1.1 OK\r\n\r\n')),
  ...failedBoth('a header without end', says(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(200_000)}`)),
  ...failedBoth('headers without end', endlessHeaders),
  ...failedBoth('a header with a NUL', says('HTTP/1.1 200 OK\r\nx: a\u0000b\r\ncontent-length: 2\r\n\r\n{}')),
];

async function endlessHeaders(wire: Parameters<Play>[0]): Promise<void> {
  await wire.write('HTTP/1.1 200 OK\r\n');
  for (let i = 0; await wire.write(`x-${i}: ${'x'.repeat(100)}\r\n`); i++);
}
