import {
  answer,
  chunk,
  chunkedHead,
  DONE,
  delta,
  event,
  HEL,
  LAST_CHUNK,
  LO,
  otherChoice,
  streamed,
  usageChunk,
  whole,
} from '../bytes.ts';
import { brokenOff, type Case, failed, proving, says } from './case.ts';

/** Responses that are not answers, and answers that end too early. */

const unreadable = 'The model sent an answer that cannot be read.';
const tooEarly = 'The model ended its answer too early.';
const HTML = '<!doctype html><html><body><h1>It works!</h1></body></html>';

/** Failures before anything is relayed. They are JSON errors, for streams too. */
export const NO_ANSWERS: readonly Case[] = proving('streamed', '[completions.stream.errors-before]', [
  ...[
    ['a page of HTML', HTML],
    ['JSON cut off', '{"choices":[{"message":{"content":"Hel'],
    ['nothing', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['no choices', '{"choices":[]}'],
    ['only another choice [answer.choices.one]', '{"choices":[{"index":1,"message":{"content":"Hello"}}]}'],
    ['choices that are not an array', '{"choices":{"0":{"message":{"content":"x"}}}}'],
    ['no message', '{"choices":[{"text":"Hello"}]}'],
    ['content of another kind', JSON.stringify(answer([{ type: 'text', text: 'Hello' }]))],
    ['events', `${HEL}${LO}${DONE}`],
  ].map(([name = '', body = '']) =>
    failed(name, says(whole(body)), { message: unreadable, connection: 'kept' }),
  ),
  ...(
    [
      ['a page of HTML', HTML],
      ['an answer that is not streamed', JSON.stringify(answer())],
      ['comments only', ': hi\n\n: there\n\n'],
      ['only a usage chunk', event(usageChunk())],
      ['only a chunk without choices', event({ choices: [], prompt_filter_results: [] })],
      ['only chunks of another kind', event({}) + event({ id: 'x' }) + event({ choices: null })],
      ['only another choice', event({ choices: [otherChoice('Hello', 'stop')] }) + event(usageChunk())],
    ] as const
  ).map(([name, body]) =>
    failed(name, says(streamed(body)), { streamed: true, message: tooEarly, connection: 'kept' }),
  ),
  failed('nothing', says(streamed()), { streamed: true, message: tooEarly, connection: 'kept' }),
  ...(
    [
      ['[DONE] first', DONE],
      ['a usage chunk and [DONE]', event(usageChunk()) + DONE],
    ] as const
  ).map(([name, body]) => failed(name, says(streamed(body)), { streamed: true, message: tooEarly })),
  ...(
    [
      ['a first event that is not JSON', 'data: {"choices":\n\n'],
      ['a first event of another kind', event([1])],
      [
        'a first event whose choices are not an array',
        event({ choices: { 0: { delta: { content: 'x' } } } }),
      ],
      ['a first event with content of another kind', event(delta([{ text: 'x' }]))],
    ] as const
  ).map(([name, body]) =>
    failed(name, says(chunkedHead(), chunk(body)), { streamed: true, message: unreadable }),
  ),
]);

export const ENDS_EARLY: readonly Case[] = [
  brokenOff('[DONE] without a finish reason', says(streamed(HEL, DONE)), 'upstream_error'),
  brokenOff(
    'only another choice has finished',
    says(streamed(HEL, event({ choices: [otherChoice('', 'stop')] }), DONE)),
    'upstream_error',
  ),
  brokenOff('an end without a finish reason', says(streamed(HEL)), 'upstream_error', { connection: 'kept' }),
  brokenOff('an event that is not JSON', says(streamed(HEL, 'data: {"cho\n\n', LO, DONE)), 'upstream_error'),
  brokenOff(
    'an event that is not JSON after the finish reason',
    says(streamed(HEL, LO, 'data: {"cho\n\n', DONE)),
    'upstream_error',
    { pieces: ['Hel', 'lo'] },
  ),
  brokenOff(
    'content of another kind',
    says(streamed(HEL, event(delta({ text: 'x' })), LO, DONE)),
    'upstream_error',
  ),
  brokenOff(
    'half an event at the end',
    says(chunkedHead(), chunk(HEL, LO.slice(0, 20)), LAST_CHUNK),
    'upstream_error',
    { connection: 'kept' },
  ),
];
