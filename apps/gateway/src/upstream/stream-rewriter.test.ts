import { describe, expect, it } from '@jest/globals';
import { LLAMA_CPP_STREAM } from '@tidegate/testing';
import fc from 'fast-check';
import { StreamRewriter } from './stream-rewriter.ts';

const identity = { completionId: 'chatcmpl-1', createdS: 7, model: 'my "model"', reservedTokens: 100 };
const limits = { maxBytes: 8_000, maxEventBytes: 1_000, includeUsage: false, upstreamKey: '' };

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
  out += rewriter.take();
  return { rewriter, out, chunks: chunksOf(out) };
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
/** A choice other than the one that is relayed. */
const other = (index: unknown, content: string, finish_reason: string | null = null) => ({
  index,
  delta: { content },
  finish_reason,
});

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
    expect(rewriter).toMatchObject({ started: true, done: true, failure: null, usage: null });
  });

  it('from llama.cpp keeps its text and usage and drops everything else', () => {
    const { chunks, rewriter } = rewrite(LLAMA_CPP_STREAM);
    const text = ['!', 'b', 'j', '!'].map((content) => chunk({ content }));
    expect(chunks).toEqual([role, ...text, chunk({ content: '' }, 'length')]);
    expect(rewriter).toMatchObject({ done: true, usage: { promptTokens: 23, completionTokens: 4 } });
  });

  it('splits a first chunk that has text, and keeps text and finish reason together', () => {
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

  it('turns every unknown finish reason into stop', () => {
    for (const reason of ['eos_token', 'stop_sequence', 'tool_calls', 'content_filter', 7]) {
      expect(rewrite(delta('a', reason)).chunks.at(-1)).toEqual(chunk({ content: 'a' }, 'stop'));
    }
  });

  it('is not complete if the model gave it up, even if it says so and sends [DONE]', () => {
    for (const reason of ['abort', 'aborted', 'cancelled', 'error']) {
      const { chunks, rewriter } = rewrite(
        delta('Half') + delta(' of', reason) + delta('', 'stop') + event('[DONE]'),
      );
      expect(chunks.at(-1)).toEqual(chunk({ content: ' of' }));
      expect([rewriter.done, rewriter.failure?.message]).toEqual([
        false,
        'The model ended its answer too early.',
      ]);
    }
  });

  it('relays text after the finish reason, and puts the last reason on the last piece [chunk.finish_reason]', () => {
    const { chunks, rewriter } = rewrite(
      delta('a', 'stop') + delta('') + delta('b') + delta('c', 'length') + delta('') + event('[DONE]'),
    );
    expect(chunks).toEqual([
      role,
      chunk({ content: 'a' }),
      chunk({ content: 'b' }),
      chunk({ content: 'c' }, 'length'),
    ]);
    expect(rewriter).toMatchObject({ done: true, failure: null });
  });

  it('comes from the choice with index 0 or without an index, wherever it stands; others are ignored', () => {
    const { chunks, rewriter } = rewrite(
      event({ choices: [other(1, 'no')] }) +
        event({ choices: [other(1, 'no', 'length'), other(0, 'Hel')] }) +
        event({ choices: [null, other('0', 'no'), other(null, 'lo')] }) +
        event({ choices: [other(1, 'no', 'length')] }) +
        event({ choices: [{ delta: {}, finish_reason: 'stop' }] }),
    );
    expect(chunks).toEqual([
      role,
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      chunk({ content: '' }, 'stop'),
    ]);
    expect(rewriter).toMatchObject({ done: true, failure: null });
  });

  it('is not complete when only another choice has finished', () => {
    const text = delta('a') + event({ choices: [other(1, 'b', 'stop')] });
    expect(rewrite(text).rewriter.failure?.code).toBe('upstream_error');
    expect(rewrite(event({ choices: [other(1, 'b', 'stop')] })).rewriter.started).toBe(false);
  });

  it('accepts chunks without choices before, between and after the text', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
    const empty = event({}) + event({ id: 'x' }) + event({ choices: null }) + event({ choices: [] });
    const { chunks, rewriter } = rewrite(
      `${empty}${delta('a')}${empty}${delta('b', 'stop')}${empty}${event({ choices: null, usage })}${event('[DONE]')}`,
    );
    expect(chunks).toEqual([role, chunk({ content: 'a' }), chunk({ content: 'b' }, 'stop')]);
    expect(rewriter).toMatchObject({ done: true, usage: { promptTokens: 3, completionTokens: 4 } });
  });

  it.each(['data: [DONE] \n\n', 'data:\t[DONE]\t\n\n', 'data:   [DONE]\n\n'])(
    'ends at [DONE] with blanks around it: %j',
    (done) => {
      const { rewriter, chunks } = rewrite(delta('a', 'stop') + done + delta('b'));
      expect(rewriter).toMatchObject({ done: true, failure: null });
      expect(chunks).toEqual([role, chunk({ content: 'a' }, 'stop')]);
    },
  );

  it('holds the last piece back until the end, and sends it without a reason if there is none', () => {
    const rewriter = new StreamRewriter(identity, limits);
    rewriter.push(Buffer.from(delta('a') + delta('b', 'stop')));
    expect(chunksOf(rewriter.take())).toEqual([role, chunk({ content: 'a' })]);
    rewriter.breakOff();
    rewriter.breakOff();
    expect(chunksOf(rewriter.take())).toEqual([chunk({ content: 'b' })]);
  });

  it('is complete without [DONE] once it has its finish reason, and not before', () => {
    expect(rewrite(delta('a', 'stop')).rewriter.failure).toBeNull();
    expect(rewrite(delta('a')).rewriter.failure?.code).toBe('upstream_error');
    expect(rewrite(delta('a') + event('[DONE]')).rewriter.failure?.code).toBe('upstream_error');
    expect(rewrite('').rewriter).toMatchObject({ started: false, failure: { code: 'upstream_error' } });
  });

  it('has not started after only a chunk without choices', () => {
    expect(rewrite(event({ choices: [], prompt_filter_results: [] })).rewriter.started).toBe(false);
  });

  it('fails on unreadable data and on an error event, and keeps what came before', () => {
    for (const bad of [
      '{"choices":',
      '7',
      'null',
      '[]',
      '{"choices":{}}',
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

  it('is the same wherever the bytes are split', () => {
    const bytes = Buffer.from(`: hi\r\n\r\n${delta('é漢')}${delta('😀', 'stop')}${event('[DONE]')}`);
    const expected = rewrite([bytes]).out;
    expect(expected).toContain('😀');
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(rewrite([bytes.subarray(0, cut), bytes.subarray(cut)]).out).toBe(expected);
    }
  });

  it('has the finish reason and the usage that came last, even if they came before', () => {
    // An event whose text is written in another way is not taken for one of the same form.
    const escaped = (event: string) => event.replace('"a"', '"\\u0061"');
    const [length, stop] = [delta('a', 'length'), escaped(delta('a', 'stop'))];
    expect(rewrite(length + stop + length).chunks.at(-1)).toEqual(chunk({ content: 'a' }, 'length'));

    const used = (completion_tokens: number) => {
      const usage = { prompt_tokens: 1, completion_tokens, total_tokens: completion_tokens + 1 };
      return event({ usage, choices: [{ delta: { content: 'a' } }] });
    };
    const { rewriter } = rewrite(used(4) + escaped(used(8)) + used(4));
    expect(rewriter.usage).toEqual({ promptTokens: 1, completionTokens: 4 });
  });

  it('is the same whether or not its events are of one form', () => {
    const text = fc.oneof(
      fc.constantFrom('', 'a', ' b', '"', '\\n'),
      fc.string({ unit: 'binary', maxLength: 4 }),
    );
    const finish = fc.constantFrom(null, null, null, null, '', 'stop', 'length');
    const usage = fc.constantFrom(undefined, undefined, undefined, null, {
      prompt_tokens: 1,
      completion_tokens: 2,
      total_tokens: 3,
    });
    const piece = fc.record({ text, finish, usage, index: fc.constantFrom(0, 0, 0, 0, 1) });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const streamOf = (more: (i: number) => object) =>
          pieces
            .map(({ text: content, finish: finish_reason, usage, index }, i) =>
              event({ ...more(i), choices: [{ index, delta: { content }, finish_reason }], usage }),
            )
            .join('');
        const [same, different] = [rewrite(streamOf(() => ({}))), rewrite(streamOf((n) => ({ n })))];
        expect(same.out).toBe(different.out);
        expect(same.rewriter).toMatchObject({
          started: different.rewriter.started,
          done: different.rewriter.done,
          failure: different.rewriter.failure,
          usage: different.rewriter.usage,
          tail: different.rewriter.tail,
          events: different.rewriter.events,
        });
      }),
    );
  });

  it('relays any text unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 8 }), (texts) => {
        const { chunks } = rewrite(texts.map((text) => delta(text)).join('') + delta('', 'stop'), {
          maxBytes: 1e6,
          maxEventBytes: 1e5,
          includeUsage: false,
          upstreamKey: '',
        });
        expect(chunks.map(({ choices }) => choices[0].delta.content).join('')).toBe(texts.join(''));
      }),
    );
  });
});

describe('the usage of a stream', () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const usageEvent = (reported: unknown) => event({ choices: [], usage: reported });

  it('may come in a chunk of its own, with the last content or with any chunk', () => {
    expect(rewrite(delta('a', 'stop') + usageEvent(usage)).rewriter.usage).toEqual({
      promptTokens: 3,
      completionTokens: 4,
    });
    const last = event({ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }], usage });
    expect(rewrite(last).rewriter.usage).toEqual({ promptTokens: 3, completionTokens: 4 });
  });

  it('needs no total', () => {
    for (const total_tokens of [undefined, null])
      expect(rewrite(delta('a', 'stop') + usageEvent({ ...usage, total_tokens })).rewriter.usage).toEqual({
        promptTokens: 3,
        completionTokens: 4,
      });
  });

  it('is dropped if it does not add up or exceeds the reservation', () => {
    for (const bad of [
      { ...usage, total_tokens: 8 },
      { prompt_tokens: 100, completion_tokens: 1, total_tokens: 101 },
      {},
      'x',
    ]) {
      expect(rewrite(delta('a', 'stop') + usageEvent(bad)).rewriter.usage).toBeNull();
    }
  });

  it('is sent in one extra chunk before [DONE] if requested, and is null there if the model reported none', () => {
    const tailOf = (text: string, includeUsage: boolean) =>
      rewrite(text, { ...limits, includeUsage }).rewriter.tail;
    const reported = delta('a', 'stop') + usageEvent(usage);
    expect(tailOf(reported, false)).toBe('data: [DONE]\n\n');
    const [extra, done] = tailOf(reported, true).split('\n\n');
    expect(JSON.parse(extra?.slice(6) ?? '')).toEqual({ ...chunk({}), choices: [], usage });
    expect(done).toBe('data: [DONE]');
    for (const missing of ['', usageEvent({ ...usage, total_tokens: 8 })]) {
      const [without] = tailOf(delta('a', 'stop') + missing, true).split('\n\n');
      expect(JSON.parse(without?.slice(6) ?? '')).toEqual({ ...chunk({}), choices: [], usage: null });
    }
  });
});

describe('the limits of a stream', () => {
  const TOO_LARGE = "The model's answer is too large.";
  const small = 'data:{"choices":[{"delta":{"content":"é"}}]}\n\n'.repeat(20) + delta('é', 'length');
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const text = small + event({ choices: [], usage }) + event('[DONE]');
  const sent = (within: typeof limits) => {
    const { rewriter, out } = rewrite(text, within);
    return { rewriter, out, bytes: Buffer.byteLength(out + rewriter.tail) };
  };

  it.each([true, false])(
    'apply to everything that is sent, to the byte, including [DONE]; with the usage chunk: %s [limit.stream.size]',
    (includeUsage) => {
      const { bytes } = sent({ ...limits, includeUsage });
      expect(sent({ ...limits, includeUsage, maxBytes: bytes }).rewriter.failure).toBeNull();
      const { rewriter, out } = sent({ ...limits, includeUsage, maxBytes: bytes - 1 });
      expect(rewriter).toMatchObject({ done: false, tooLarge: true, failure: { message: TOO_LARGE } });
      expect(Buffer.byteLength(out)).toBeLessThan(bytes);
    },
  );

  it('apply to one event as it is sent, to the byte [limit.stream.event]', () => {
    for (const content of ['x'.repeat(500), 'é"\n'.repeat(100)]) {
      const [, one = ''] = rewrite(delta(content)).out.split(/(?<=\n\n)/);
      const maxEventBytes = Buffer.byteLength(one);
      expect(chunksOf(one)).toEqual([chunk({ content })]);
      const open = rewrite(delta('a') + delta(content), { ...limits, maxEventBytes });
      expect(open.rewriter.tooLarge).toBe(false);
      const tight = rewrite(delta('a') + delta(content), { ...limits, maxEventBytes: maxEventBytes - 1 });
      expect(tight.rewriter).toMatchObject({ tooLarge: true, failure: { message: TOO_LARGE } });
      expect(tight.chunks).toEqual([role, chunk({ content: 'a' })]);
    }
  });

  it('can be exceeded by the first event, before the answer has started', () => {
    const { rewriter } = rewrite(delta('x'.repeat(1_000)));
    expect(rewriter).toMatchObject({ started: false, tooLarge: true, failure: { message: TOO_LARGE } });
  });

  it('allow some bytes that are not relayed, but not any number of them', () => {
    const padded = (bytes: number) => event({ pad: 'x'.repeat(bytes) });
    expect(rewrite(padded(3_900) + delta('a', 'stop')).rewriter.failure).toBeNull();
    expect(rewrite(padded(4_000) + delta('a', 'stop')).rewriter.failure?.message).toBe(TOO_LARGE);
    expect(rewrite(': x\n\n'.repeat(6_200) + delta('a', 'stop')).rewriter.failure).toBeNull();
    expect(rewrite(': x\n\n'.repeat(6_401)).rewriter.failure?.message).toBe(TOO_LARGE);
  });
});
