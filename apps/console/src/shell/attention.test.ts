import { describe, expect, it } from '@jest/globals';
import type { AttentionView } from '@tidegate/control';
import { attentionIn } from './attention.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const QUIET: AttentionView = {
  failedModels: 0,
  requests: 0,
  errors: 0,
  month: {
    month: '2026-11',
    resetsAt: '2026-12-01T00:00:00.000Z',
    live: false,
    inFlight: null,
    requests: 0,
    requestsCap: 100,
    tokens: { charged: 0, reserved: 0, cap: 100 },
  },
};

describe('attention', () => {
  it.each<[Partial<AttentionView>, object]>([
    [{}, {}],
    [{ failedModels: 1 }, { api: 'A model has failed.' }],
    [{ failedModels: 2 }, { api: '2 models have failed.' }],
    [{ requests: 50, errors: 5 }, { requests: '10% of the requests in this hour and the last have failed.' }],
    [{ requests: 51, errors: 5 }, {}],
    [{ requests: 4, errors: 4 }, {}],
    [
      { failedModels: 1, month: { ...QUIET.month, requests: 80 } },
      { api: expect.any(String), usage: expect.stringMatching(/^80% of the whole organization's requests/) },
    ],
    [{ month: { ...QUIET.month, requests: 79 } }, {}],
  ])('is called to %j by %j', (view, sentences) =>
    expect(attentionIn({ ...QUIET, ...view }, NOW_MS)).toEqual(sentences),
  );
});
