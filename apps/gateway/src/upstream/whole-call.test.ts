import { describe, expect, it } from '@jest/globals';
import { LLAMA_CPP } from '@tidegate/testing';
import { AMPLE_MEMORY } from './upstream-call.ts';
import { parseAnswer, WholeCall } from './whole-call.ts';

const identity = { completionId: 'chatcmpl-1', createdS: 7, model: 'my "model"', reservedTokens: 100 };
const bodyOf = (message: unknown, finish_reason: unknown = 'stop', usage?: unknown) =>
  JSON.stringify({ choices: [{ message, finish_reason }], usage });
/** What is relayed of a model's answer. */
const relayed = (body: string) => {
  const outcome = parseAnswer(body, identity, '');
  if (outcome.kind !== 'whole') throw new Error(`it is ${outcome.kind}`);
  return JSON.parse(outcome.json);
};
const choiceOf = (body: string) => relayed(body).choices[0];

/** A call that receives this body from its model. */
function hear(body: string, maxBytes: number, memory = AMPLE_MEMORY) {
  let aborted = false;
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    abort: () => {
      aborted = true;
    },
    pause: () => {},
    resume: () => {},
  };
  const call = new WholeCall(identity, { timeoutMs: 20, maxBytes }, '', memory);
  call.onRequestStart(controller);
  if (body !== '') {
    call.onResponseStart(controller, 200, {});
    call.onResponseData(controller, Buffer.from(body));
    call.onResponseEnd();
  }
  return { call, aborted: () => aborted };
}

describe("a model's whole answer", () => {
  it('becomes content, finish reason and usage in the form of the API', () => {
    const usage = {
      prompt_tokens: 60,
      completion_tokens: 40,
      total_tokens: 100,
      prompt_tokens_details: null,
    };
    const body = bodyOf({ role: 'assistant', content: 'Hi', reasoning_content: 'hm' }, 'length', usage);
    expect(relayed(body)).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 7,
      model: 'my "model"',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi' },
          logprobs: null,
          finish_reason: 'length',
        },
      ],
      usage: { prompt_tokens: 60, completion_tokens: 40, total_tokens: 100 },
    });
    expect(parseAnswer(body, identity, '')).toMatchObject({
      usage: { promptTokens: 60, completionTokens: 40 },
    });
  });

  it('of llama.cpp is relayed with its usage', () => {
    const answer = relayed(JSON.stringify(LLAMA_CPP.whole));
    expect(answer.choices).toMatchObject([
      { message: { role: 'assistant', content: '!bj!bj!bj!bj' }, finish_reason: 'length' },
    ]);
    expect(answer.usage).toEqual({ prompt_tokens: 23, completion_tokens: 12, total_tokens: 35 });
  });

  it('that the model gave up is no answer, whatever it says', () => {
    for (const reason of ['abort', 'aborted', 'cancelled', 'error'])
      expect(parseAnswer(bodyOf({ content: 'Half of' }, reason), identity, '')).toMatchObject({
        code: 'upstream_error',
        message: 'The model ended its answer too early.',
      });
  });

  it('without content has empty content, and an unknown finish reason becomes stop', () => {
    for (const reason of ['eos_token', 'tool_calls', null, '']) {
      expect(choiceOf(bodyOf({ content: null }, reason))).toMatchObject({
        message: { content: '' },
        finish_reason: 'stop',
      });
    }
  });

  it('comes from the choice with index 0 or without an index, wherever it stands; others are ignored', () => {
    const choice = (index: unknown, content: string, finish_reason = 'length') => ({
      index,
      message: { content },
      finish_reason,
    });
    for (const index of [0, null, undefined]) {
      const choices = [null, choice(1, 'no'), choice('0', 'no'), choice(index, 'yes', 'stop')];
      expect(choiceOf(JSON.stringify({ choices }))).toMatchObject({
        message: { content: 'yes' },
        finish_reason: 'stop',
      });
    }
    expect(parseAnswer(JSON.stringify({ choices: [choice(1, 'no')] }), identity, '')).toMatchObject({
      kind: 'refused',
      code: 'upstream_error',
    });
  });

  it('has no usage when it is not valid', () => {
    for (const usage of [
      { prompt_tokens: 60, completion_tokens: 41, total_tokens: 101 },
      { prompt_tokens: -1, completion_tokens: 1, total_tokens: 0 },
      { prompt_tokens: 1.5, completion_tokens: 1.5, total_tokens: 3 },
      { prompt_tokens: '1', completion_tokens: 1, total_tokens: 2 },
      [],
      'x',
    ]) {
      const body = bodyOf({ content: 'Hi' }, 'stop', usage);
      expect(parseAnswer(body, identity, '')).toMatchObject({ kind: 'whole', usage: null });
      expect(relayed(body).usage).toBeNull();
    }
  });

  it('is a failure if it cannot be read', () => {
    for (const body of [
      '',
      'null',
      '[]',
      '7',
      '{"choices":[]}',
      '{"choices":[{}]}',
      '{"choices":{"0":{"message":{}}}}',
      bodyOf({ content: ['Hi'] }),
    ]) {
      expect(parseAnswer(body, identity, '')).toMatchObject({
        kind: 'refused',
        code: 'upstream_error',
      });
    }
  });

  it('that is late is a failure, and its connection is closed', async () => {
    const { call, aborted } = hear('', 100);
    expect(await call.outcome).toEqual({
      kind: 'refused',
      code: 'upstream_error',
      message: 'The model did not answer in time.',
    });
    expect(aborted()).toBe(true);
  });
});

describe('the limit of a whole answer', () => {
  const tooLarge = { kind: 'refused', message: "The model's answer is too large." };

  it('applies to what is relayed, to the byte [limit.whole-answer]', async () => {
    const body = bodyOf({ content: 'é"'.repeat(100) });
    const bytes = Buffer.byteLength(JSON.stringify(relayed(body)));
    expect(await hear(body, bytes).call.outcome).toMatchObject({ kind: 'whole' });
    expect(await hear(body, bytes - 1).call.outcome).toMatchObject(tooLarge);
  });

  it('allows some bytes that are not relayed, but not any number of them', async () => {
    const body = (bytes: number) => `${' '.repeat(bytes)}${bodyOf({ content: 'Hi' })}`;
    expect(await hear(body(3_900), 1_000).call.outcome).toMatchObject({ kind: 'whole' });
    const { call, aborted } = hear(body(4_000), 1_000);
    expect(await call.outcome).toMatchObject(tooLarge);
    expect(aborted()).toBe(true);
  });
});
