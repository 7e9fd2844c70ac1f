import { expect, it } from '@jest/globals';
import { newRefusal } from '@tidegate/contracts';
import type { Ending } from '../ending.ts';
import { settlementOf } from './settlement.ts';

const TIMES = { durationMs: 34, firstChunkMs: 5 };
const USAGE = { promptTokens: 3, completionTokens: 4 };

it.each<[Ending, ReturnType<typeof settlementOf>]>([
  ...(['whole', 'streamed'] as const).flatMap((kind): [Ending, ReturnType<typeof settlementOf>][] => [
    [
      { kind, usage: USAGE } as Ending,
      { answered: true, usageValid: true, ...USAGE, errorCode: '', ...TIMES },
    ],
    [
      { kind, usage: null } as Ending,
      { answered: true, usageValid: false, promptTokens: 0, completionTokens: 0, errorCode: '', ...TIMES },
    ],
  ]),
  [newRefusal({ code: 'model_refused', message: 'No.' }), failed('model_refused')],
  [{ kind: 'broken', errorCode: 'upstream_error' } as Ending, failed('upstream_error')],
  [{ kind: 'aborted', reason: 'shutdown' }, failed('shutdown')],
])('the ending %j is metered as %j', (ending, settled) => {
  expect(settlementOf(ending, TIMES)).toEqual(settled);
});

function failed(errorCode: string): ReturnType<typeof settlementOf> {
  return { answered: false, usageValid: false, promptTokens: 0, completionTokens: 0, errorCode, ...TIMES };
}
