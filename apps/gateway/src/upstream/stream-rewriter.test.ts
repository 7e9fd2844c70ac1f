import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { StreamRewriter } from './stream-rewriter.ts';

const identity = { completionId: 'chatcmpl-1', createdS: 7, model: 'my "model"', reservedTokens: 100 };
const limits = { maxBytes: 8_000, maxEventBytes: 1_000 };

const event = (chunk: unknown): string =>
  `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`;
const delta = (content: unknown, finish: unknown = null, more: object = {}) =>
  event({
    id: 'up',
    choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: finish, ...more }],
  });

function rewrite(text: string | readonly Buffer[], within = limits) {
  const rewriter = new StreamRewriter(identity, within);
  let out = '';
  for (const bytes of typeof text === 'string' ? [Buffer.from(text)] : text) {
    rewriter.push(bytes);
    out += rewriter.take();
  }
  rewriter.end();
  return { rewriter, out: out + rewriter.take(), chunks: chunksOf(out) };
}

const chunksOf = (out: string) =>
  out
    .split('\n\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line.slice('data: '.length)));

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 7,
  model: 'my "model"',
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
});
const role = chunk({ role: 'assistant', content: '' });

describe('a rewritten stream', () => {
  it('has a role chunk, content chunks and a finish reason on the last of them', () => {
    const { chunks, rewriter } = rewrite(
      delta('') + delta('Hel') + delta('lo') + delta('', 'stop') + event('[DONE]'),
    );
    expect(chunks).toEqual([
      role,
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      chunk({ content: '' }, 'stop'),
    ]);
    expect(rewriter).toMatchObject({ started: true, finished: true, done: true, failure: null, usage: null });
  });

  it('splits a first chunk that carries text, and keeps text and finish reason that come together', () => {
    expect(rewrite(delta('All', 'length')).chunks).toEqual([role, chunk({ content: 'All' }, 'length')]);
  });

  it('drops reasoning, names, unknown fields and chunks without text', () => {
    const reasoning = event({
      choices: [{ delta: { reasoning_content: 'hm' }, logprobs: { content: [] } }],
      x: 1,
    });
    const { chunks } = rewrite(
      reasoning + delta(null) + delta('a', null, { matched_stop: 3 }) + delta(null, 'stop'),
    );
    expect(chunks).toEqual([role, chunk({ content: 'a' }), chunk({ content: '' }, 'stop')]);
  });

  it('calls every finish reason that the contract does not know a stop', () => {
    for (const reason of ['eos_token', 'stop_sequence', 'tool_calls', 'content_filter', 7]) {
      expect(rewrite(delta('a', reason)).chunks.at(-1)).toEqual(chunk({ content: 'a' }, 'stop'));
    }
  });

  it('says nothing after the finish reason', () => {
    expect(rewrite(delta('a', 'stop') + delta('b') + delta('c', 'length')).chunks).toHaveLength(2);
  });

  it('is complete without [DONE] once the finish reason was there, and not before', () => {
    expect(rewrite(delta('a', 'stop')).rewriter.failure).toBeNull();
    expect(rewrite(delta('a')).rewriter.failure?.code).toBe('upstream_error');
    expect(rewrite(delta('a') + event('[DONE]')).rewriter.failure?.code).toBe('upstream_error');
    expect(rewrite('').rewriter).toMatchObject({ started: false, failure: { code: 'upstream_error' } });
  });

  it('has not started while nothing but a chunk without choices came', () => {
    expect(rewrite(event({ choices: [], prompt_filter_results: [] })).rewriter.started).toBe(false);
  });

  it('fails on what cannot be read and on an error event, keeping what came before', () => {
    for (const bad of [
      '{"choices":',
      '7',
      'null',
      '{}',
      '{"choices":[{"delta":{"content":[1]}}]}',
      '{"error":{"message":"x"}}',
    ]) {
      const { rewriter, chunks } = rewrite(delta('a') + event(bad) + delta('b', 'stop'));
      expect(rewriter.failure?.code).toBe('upstream_error');
      expect(chunks).toEqual([role, chunk({ content: 'a' })]);
    }
    expect(rewrite(event({ error: { message: 'too long', code: 400 } })).rewriter).toMatchObject({
      started: false,
      failure: { code: 'model_refused', message: 'too long' },
    });
  });

  it('comes out the same wherever the bytes are cut', () => {
    const bytes = Buffer.from(`: hi\r\n\r\n${delta('é漢')}${delta('😀', 'stop')}${event('[DONE]')}`);
    const expected = rewrite([bytes]).out;
    expect(expected).toContain('😀');
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(rewrite([bytes.subarray(0, cut), bytes.subarray(cut)]).out).toBe(expected);
    }
  });

  it('relays any text unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 8 }), (texts) => {
        const { chunks } = rewrite(texts.map((text) => delta(text)).join('') + delta('', 'stop'), {
          maxBytes: 1e6,
          maxEventBytes: 1e5,
        });
        expect(chunks.map(({ choices }) => choices[0].delta.content).join('')).toBe(texts.join(''));
      }),
    );
  });
});

describe('the usage of a stream', () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const usageEvent = (reported: unknown) => event({ choices: [], usage: reported });

  it('comes in a chunk of its own, with the last content or with any chunk', () => {
    expect(rewrite(delta('a', 'stop') + usageEvent(usage)).rewriter.usage).toEqual({
      promptTokens: 3,
      completionTokens: 4,
    });
    const last = event({ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }], usage });
    expect(rewrite(last).rewriter.usage).toEqual({ promptTokens: 3, completionTokens: 4 });
  });

  it('is missing when it does not add up or does not fit the reservation', () => {
    for (const bad of [
      { ...usage, total_tokens: 8 },
      { prompt_tokens: 100, completion_tokens: 1, total_tokens: 101 },
      {},
      'x',
    ]) {
      expect(rewrite(delta('a', 'stop') + usageEvent(bad)).rewriter.usage).toBeNull();
    }
  });

  it('goes into one extra chunk before [DONE], only when asked for', () => {
    const { rewriter } = rewrite(delta('a', 'stop') + usageEvent(usage));
    expect(rewriter.tail(false)).toBe('data: [DONE]\n\n');
    const [extra, done] = rewriter.tail(true).split('\n\n');
    expect(JSON.parse(extra?.slice(6) ?? '')).toEqual({ ...chunk({}), choices: [], usage });
    expect(done).toBe('data: [DONE]');
  });
});

describe('the limits of a stream', () => {
  it('hold for one event, as it arrives and as it leaves', () => {
    expect(rewrite(delta('x'.repeat(790), 'stop')).rewriter.failure).toBeNull();
    expect(rewrite(delta('x'.repeat(990))).rewriter.failure?.message).toBe(
      'The answer of the model is too large.',
    );
    const grows = `{"choices":[{"delta":{"content":"${'x'.repeat(880)}"},"finish_reason":"stop"}]}`;
    expect(rewrite(event(grows)).rewriter.failure?.message).toBe('The answer of the model is too large.');
  });

  it('hold for the whole stream, as it arrives and as it leaves', () => {
    expect(rewrite(': x\n\n'.repeat(1_601)).rewriter.failure?.message).toBe(
      'The answer of the model is too large.',
    );
    const small = 'data:{"choices":[{"delta":{"content":"a"}}]}\n\n';
    const { rewriter, out } = rewrite(small.repeat(100));
    expect(rewriter.failure?.message).toBe('The answer of the model is too large.');
    expect(Buffer.byteLength(out)).toBeLessThanOrEqual(8_000);
  });
});
