import { describe, expect, it } from '@jest/globals';
import { type CompletionRequest, newRefusal } from '@tidegate/contracts';
import { cooldownAfter, cooldownAfterRefusal } from './cooldown.ts';

const refused = newRefusal({ code: 'invalid_json', message: 'no' });
const accepted = { messages: [] } as unknown as CompletionRequest;

describe('the cooldown after a body in a worker', () => {
  it('leaves an organization a third of a thread, and an eleventh while its bodies are refused', () => {
    expect(cooldownAfter({ parsed: accepted, tookMs: 7 })).toBe(14);
    expect(cooldownAfter({ parsed: refused, tookMs: 7 })).toBe(70);
  });

  it('is the same after any refusal, whichever step refuses', () => {
    expect(cooldownAfterRefusal(7)).toBe(70);
    expect(cooldownAfterRefusal(60_000)).toBe(5_000);
  });

  it('is bounded, however long the body took', () => {
    expect(cooldownAfter({ parsed: accepted, tookMs: 60_000 })).toBe(5_000);
    expect(cooldownAfter({ parsed: refused, tookMs: 60_000 })).toBe(5_000);
  });
});
