import { describe, expect, it } from '@jest/globals';
import { understand, WholeCall } from './whole-call.ts';

const answer = (message: unknown, finish_reason: unknown = 'stop', usage?: unknown) =>
  understand(JSON.stringify({ choices: [{ message, finish_reason }], usage }), 100);

describe('a whole answer of a model', () => {
  it('is its content, its finish reason and its usage', () => {
    const usage = {
      prompt_tokens: 60,
      completion_tokens: 40,
      total_tokens: 100,
      prompt_tokens_details: null,
    };
    expect(answer({ role: 'assistant', content: 'Hi', reasoning_content: 'hm' }, 'length', usage)).toEqual({
      kind: 'whole',
      content: 'Hi',
      finishReason: 'length',
      usage: { promptTokens: 60, completionTokens: 40 },
    });
  });

  it('has empty content for none, and stop for every reason that the contract does not know', () => {
    for (const reason of ['eos_token', 'tool_calls', null, '']) {
      expect(answer({ content: null }, reason)).toMatchObject({ content: '', finishReason: 'stop' });
    }
  });

  it('has no usage when it is not valid', () => {
    for (const usage of [
      { prompt_tokens: 60, completion_tokens: 41, total_tokens: 101 },
      { prompt_tokens: -1, completion_tokens: 1, total_tokens: 0 },
      { prompt_tokens: 1.5, completion_tokens: 1.5, total_tokens: 3 },
      { prompt_tokens: '1', completion_tokens: 1, total_tokens: 2 },
      { prompt_tokens: 1, completion_tokens: 1 },
      [],
      'x',
    ]) {
      expect(answer({ content: 'Hi' }, 'stop', usage)).toMatchObject({ kind: 'whole', usage: null });
    }
  });

  it('is a failure when it cannot be read', () => {
    for (const body of [
      '',
      'null',
      '[]',
      '7',
      '{"choices":[]}',
      '{"choices":[{}]}',
      '{"choices":{"0":{"message":{}}}}',
    ]) {
      expect(understand(body, 100)).toMatchObject({ kind: 'refused', refusal: { code: 'upstream_error' } });
    }
    expect(answer({ content: ['Hi'] })).toMatchObject({
      kind: 'refused',
      refusal: { code: 'upstream_error' },
    });
  });

  it('that is not there in time is a failure, and its connection is closed', async () => {
    const call = new WholeCall({ timeoutMs: 20, maxBytes: 100, reservedTokens: 100 });
    let aborted = false;
    call.onRequestStart({
      aborted: false,
      paused: false,
      reason: null,
      abort: () => {
        aborted = true;
      },
      pause: () => {},
      resume: () => {},
    });
    expect(await call.outcome).toEqual({
      kind: 'refused',
      refusal: { code: 'upstream_error', message: 'The model did not answer in time.' },
    });
    expect(aborted).toBe(true);
  });
});
