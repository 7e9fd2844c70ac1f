import { answer, delta, usageChunk } from '../bytes.ts';
import { answered, type Case, events, json, proving, relayed } from './case.ts';

/** Reports of usage, valid or not. */

const [stop, usage] = [delta('lo', 'stop'), usageChunk()];
const ONE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
/** Usage of the whole context. */
const FULL = { prompt_tokens: 998, completion_tokens: 2, total_tokens: 1_000 };

const WRONG_USAGE: readonly (readonly [string, unknown])[] = [
  ['negative', { prompt_tokens: -5, completion_tokens: 12, total_tokens: 7 }],
  ['larger than the reservation', { prompt_tokens: 999, completion_tokens: 2, total_tokens: 1_001 }],
  ['not adding up', { prompt_tokens: 5, completion_tokens: 2, total_tokens: 8 }],
  ['in fractions', { prompt_tokens: 4.5, completion_tokens: 2.5, total_tokens: 7 }],
  ['as strings', { prompt_tokens: '5', completion_tokens: '2', total_tokens: '7' }],
  ['beyond all numbers', { prompt_tokens: 5, completion_tokens: 1e300, total_tokens: 1e300 }],
  ['a list', [5, 2, 7]],
  ['true', true],
  ['null', null],
];

const REPORTED: readonly Case[] = [
  ...WRONG_USAGE.flatMap(([what, wrong]) => [
    answered(`usage ${what}`, json(answer('Hello', { usage: wrong })), { usage: null }),
    relayed(`usage ${what}`, events(delta('Hel'), stop, usageChunk(wrong), '[DONE]'), { usage: null }),
  ]),
  answered(
    'usage without a total',
    json(answer('Hello', { usage: { prompt_tokens: 5, completion_tokens: 2 } })),
  ),
  relayed(
    'usage without a total',
    events(delta('Hel'), stop, usageChunk({ prompt_tokens: 5, completion_tokens: 2 }), '[DONE]'),
  ),
  answered('no usage [plan.settlement.missing]', json(answer('Hello', { usage: undefined })), {
    usage: null,
  }),
  relayed('no usage [plan.settlement.missing]', events(delta('Hel'), stop, '[DONE]'), { usage: null }),
  relayed('usage on the last content chunk', events(delta('Hel'), { ...stop, usage: ONE }, '[DONE]')),
  relayed(
    'usage with every chunk',
    events(
      delta('Hel', null, { usage: { ...ONE, completion_tokens: 1, total_tokens: 6 } }),
      stop,
      usage,
      '[DONE]',
    ),
  ),
  relayed('usage before everything', events(usage, delta('Hel'), stop, '[DONE]')),
  relayed(
    'usage null but at the end',
    events(delta('Hel', null, { usage: null }), { ...stop, usage: null }, usage, '[DONE]'),
  ),
  answered(
    'cut where the context ends [answer.finish_reason.length]',
    json({ ...answer('Hello'), choices: [{ ...answer().choices[0], finish_reason: 'length' }], usage: FULL }),
    { finish: 'length', usage: FULL },
    { counts: { prompt: 998, completion: 2 } },
  ),
  relayed(
    'cut where the context ends',
    events(delta('Hel'), delta('lo', 'length'), usageChunk(FULL), '[DONE]'),
    { finish: 'length', usage: FULL },
    { counts: { prompt: 998, completion: 2 } },
  ),
  relayed(
    'all of the reservation',
    events(
      delta('Hel'),
      stop,
      usageChunk({ prompt_tokens: 0, completion_tokens: 1_000, total_tokens: 1_000 }),
      '[DONE]',
    ),
    {
      usage: { prompt_tokens: 0, completion_tokens: 1_000, total_tokens: 1_000 },
    },
    { counts: { prompt: 0, completion: 1_000 } },
  ),
];

export const USAGES: readonly Case[] = proving(
  'whole',
  '[answer.usage.null]',
  proving('streamed', '[chunk.usage] [completions.stream.usage]', REPORTED),
);
