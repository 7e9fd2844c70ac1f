import {
  answer,
  chunk,
  chunkedHead,
  DONE,
  delta,
  event,
  HEL,
  LO,
  otherChoice,
  streamed,
  USAGE,
  usageChunk,
  whole,
} from '../bytes.ts';
import { answered, type Case, events, json, relayed, says } from './case.ts';

/** What answers contain: complete ones in many forms, and those that only look complete. */

const [stop, usage] = [delta('lo', 'stop'), usageChunk()];
const ONE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const said = (finish_reason: unknown) => ({
  choices: [{ message: { content: 'Hello' }, finish_reason }],
  usage: USAGE,
});
const saying = (delta: object) => ({ choices: [{ index: 0, delta }] });
const DEEP = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;

export const CHUNKS: readonly Case[] = [
  relayed(
    'role and content in the first chunk',
    events(saying({ role: 'assistant', content: 'Hel' }), stop, usage, '[DONE]'),
  ),
  relayed('all in one chunk', events(delta('Hello', 'length', { usage: ONE }), '[DONE]'), {
    pieces: ['Hello'],
    finish: 'length',
  }),
  relayed(
    'the finish reason after the content',
    events(delta('Hel'), delta('lo'), delta('', 'stop'), usage, '[DONE]'),
    { pieces: ['Hel', 'lo', ''] },
  ),
  relayed('a finish reason and no content at all', events(delta('', 'stop'), usage, '[DONE]'), {
    pieces: [''],
  }),
  relayed('no [DONE]', events(delta('Hel'), stop, usage)),
  relayed('two [DONE]', events(delta('Hel'), stop, usage, '[DONE]', '[DONE]')),
  relayed(
    'more after [DONE]',
    events(delta('Hel'), stop, usage, '[DONE]', delta(' there'), usageChunk({ ...ONE, total_tokens: 9 }), {
      error: 'x',
    }),
  ),
  relayed(
    'more after the finish reason [chunk.finish_reason]',
    events(delta('Hel'), stop, delta(' there'), delta('', 'length'), usage, '[DONE]'),
    { pieces: ['Hel', 'lo', ' there'], finish: 'length' },
  ),
  relayed(
    'two choices by turns, and together [chunk.content]',
    events(
      { choices: [otherChoice('no')] },
      delta('Hel'),
      { choices: [otherChoice('no', 'length'), { delta: { content: 'l' } }] },
      { choices: [otherChoice('no', null, '0'), otherChoice('o', 'stop', null)] },
      { choices: [otherChoice('no', 'length')] },
      usage,
      '[DONE]',
    ),
    { pieces: ['Hel', 'l', 'o'] },
  ),
  relayed(
    'chunks without choices',
    events(
      ...[
        {},
        { choices: null },
        { id: 'x' },
        delta('Hel'),
        {},
        { choices: null },
        stop,
        {},
        { choices: null },
      ],
      ...[{ usage: ONE }, '[DONE]'],
    ),
  ),
  relayed(
    'a usage chunk whose choices are null',
    events(delta('Hel'), stop, { choices: null, usage: ONE }, '[DONE]'),
  ),
  relayed(
    '[DONE] with blanks around it',
    says(chunkedHead(), chunk(HEL, LO, event(usage), 'data:  [DONE] \t\n\n', event(delta('no')))),
    {},
    { connection: 'closed' },
  ),
  ...['eos_token', 'tool_calls', 'content_filter', 7, true, { type: 'eos' }].map((reason) =>
    relayed(
      `finish reason ${JSON.stringify(reason)}`,
      events(delta('Hel'), delta('lo', reason), usage, '[DONE]'),
    ),
  ),
  relayed('content null', events(delta(null), delta('Hel'), delta(null), stop, usage, '[DONE]')),
  relayed(
    'reasoning',
    events(
      saying({ reasoning_content: 'Hm', content: null }),
      saying({ reasoning: 'Hm' }),
      delta('Hel'),
      stop,
      usage,
      '[DONE]',
    ),
  ),
  relayed(
    'fields of its own',
    events(
      { ...delta('Hel'), system_fingerprint: 'x', kv: { a: 1 } },
      { ...stop, timings: [] },
      usage,
      '[DONE]',
    ),
  ),
  relayed(
    'no delta, no choice',
    events({ choices: [] }, { choices: [{}] }, { choices: [null] }, delta('Hel'), stop, usage, '[DONE]'),
  ),
  relayed(
    '__proto__ and constructor',
    says(
      streamed(
        HEL.replaceAll(
          '"id":',
          '"__proto__":{"error":"x","choices":7},"constructor":{"prototype":{"usage":1}},"id":',
        ),
        LO,
        event(usage),
        DONE,
      ),
    ),
  ),
  relayed(
    'keys twice: the last counts',
    says(streamed(HEL.replaceAll('"choices":', '"choices":7,"choices":'), LO, event(usage), DONE)),
  ),
  relayed(
    'deep nesting',
    says(streamed(HEL.replaceAll('"id":', `"deep":${DEEP},"id":`), LO, event(usage), DONE)),
  ),
  relayed(
    'bytes that are not UTF-8',
    says(
      streamed(
        Buffer.concat([
          Buffer.from('data: {"choices":[{"delta":{"content":"a'),
          Buffer.of(0xff, 0xc3),
          Buffer.from('b"}}]}\n\n'),
        ]),
        LO,
        event(usage),
        DONE,
      ),
    ),
    { pieces: ['a\uFFFD\uFFFDb', 'lo'] },
  ),
  relayed(
    'control characters and half a surrogate pair',
    says(
      streamed(
        'data: {"choices":[{"delta":{"content":"\\u0000\\n\\ud83d\u2028"}}]}\n\n',
        LO,
        event(usage),
        DONE,
      ),
    ),
    { pieces: ['\u0000\n\ud83d\u2028', 'lo'] },
  ),
];

export const WHOLES: readonly Case[] = [
  ...['eos_token', 'tool_calls', null, undefined, 7].map((reason) =>
    answered(`finish reason ${JSON.stringify(reason)}`, json(said(reason))),
  ),
  answered('finish reason length', json(said('length')), { finish: 'length' }),
  answered('content null', json(answer(null)), { content: '' }),
  answered('no content', json({ choices: [{ message: {} }], usage: USAGE }), { content: '' }),
  answered(
    'reasoning and fields of its own',
    json({
      ...answer(),
      choices: [
        {
          message: { content: 'Hello', reasoning_content: 'Hm', tool_calls: [] },
          finish_reason: 'stop',
          stop_reason: 3,
        },
      ],
      kv: 1,
    }),
  ),
  answered(
    'two choices of index 0: the first counts',
    json({ ...answer(), choices: [...answer().choices, ...answer('Bye').choices] }),
  ),
  answered(
    'another choice first [answer.choices.one]',
    json({
      ...answer(),
      choices: [
        null,
        { index: 1, message: { content: 'Bye' }, finish_reason: 'length' },
        ...answer().choices,
      ],
    }),
  ),
  answered(
    '__proto__ and keys twice',
    says(whole(JSON.stringify(answer()).replace('"id":', '"__proto__":{"error":"x"},"choices":7,"id":'))),
  ),
  answered('deep nesting', says(whole(JSON.stringify(answer()).replace('"id":', `"deep":${DEEP},"id":`)))),
  answered(
    'bytes that are not UTF-8',
    says(whole(Buffer.from(JSON.stringify(answer('a\u00ffb')), 'latin1'))),
    { content: 'a\uFFFDb' },
  ),
];
