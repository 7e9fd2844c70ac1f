import { describe, expect, it } from '@jest/globals';
import { type CompletionRequest, newRefusal } from '@tidegate/contracts';
import { restAfter, restAfterRefusal } from './rest.ts';

const refused = newRefusal({ code: 'invalid_json', message: 'no' });
const accepted = { messages: [] } as unknown as CompletionRequest;

describe('the rest after a body in a worker', () => {
  it('leaves an organization a third of a thread, and an eleventh while its bodies are refused', () => {
    expect(restAfter({ parsed: accepted, tookMs: 7 })).toBe(14);
    expect(restAfter({ parsed: refused, tookMs: 7 })).toBe(70);
  });

  it('is the same after any refusal, whichever step refuses', () => {
    expect(restAfterRefusal(7)).toBe(70);
    expect(restAfterRefusal(60_000)).toBe(5_000);
  });

  it('is bounded, however long the body took', () => {
    expect(restAfter({ parsed: accepted, tookMs: 60_000 })).toBe(5_000);
    expect(restAfter({ parsed: refused, tookMs: 60_000 })).toBe(5_000);
  });
});
