import { describe, expect, it } from '@jest/globals';
import { newRefusal } from '@tidegate/contracts';
import { LLAMA_CPP } from '@tidegate/testing';
import { isErrorEvent, refusalOfErrorEvent, refusalOfStatus } from './refused.ts';

const reason = "This model's maximum context length is 4096 tokens.";
const refusedWith = (message: string) => newRefusal({ code: 'model_refused', message });

describe('a model that refuses with a 4xx', () => {
  it.each([
    ['vLLM', 400, { error: { message: reason, type: 'BadRequestError', param: null, code: 400 } }],
    ['older vLLM, SGLang', 400, { object: 'error', message: reason, type: 'BadRequestError', code: 400 }],
    ['Ollama', 400, { error: reason }],
    ['TGI', 422, { error: reason, error_type: 'validation' }],
    ['FastAPI', 422, { detail: [{ loc: ['body', 'messages'], msg: reason, type: 'value_error' }] }],
    ['FastAPI, one reason', 413, { detail: reason }],
    ['vLLM, of a model it does not serve', 404, { error: { message: reason, code: 404 } }],
  ])('is quoted: %s', (_server, status, body) => {
    expect(refusalOfStatus(status, JSON.stringify(body), '')).toEqual(refusedWith(reason));
  });

  it.each([LLAMA_CPP.tooLong, LLAMA_CPP.twoAnswers, LLAMA_CPP.router.unknownModel])(
    'is quoted: llama.cpp, %j',
    (body) => {
      const refusal = refusedWith(body.error.message);
      expect(refusalOfStatus(400, JSON.stringify(body), '')).toEqual(refusal);
      expect(refusalOfErrorEvent(body, '')).toEqual(refusal);
    },
  );

  it('is quoted in plain text, on one line, with a bounded length', () => {
    expect(refusalOfStatus(400, ' too\r\n\u0000 long ', '').message).toBe('too long');
    expect(refusalOfStatus(400, 'x'.repeat(5_000), '').message).toHaveLength(1_001);
  });

  it('gets a default message if it gives none that can be read', () => {
    for (const body of ['', '{}', '[]', 'null', '{"error":null}', '<html><body>Bad Request</body></html>']) {
      expect(refusalOfStatus(400, body, '').message).toBe(
        'The model refused the request and gave no reason.',
      );
    }
  });
});

describe('a model that quotes its upstream key', () => {
  const key = 'sk-up-1234';
  const none = refusedWith('The model refused the request and gave no reason.');

  it.each([
    ['its headers', `cannot read {"authorization":"Bearer ${key}"}`],
    ['the key alone', key],
    ['the key where the reason is cut', `${'x'.repeat(995)}${key}`],
  ])('is not quoted: %s', (_, message) => {
    expect(refusalOfStatus(400, JSON.stringify({ error: { message } }), key)).toEqual(none);
    expect(refusalOfStatus(400, message, key)).toEqual(none);
    expect(refusalOfErrorEvent({ error: { message, code: 400 } }, key)).toEqual(none);
  });

  it('is quoted when it says something else', () => {
    expect(refusalOfStatus(400, reason, key)).toEqual(refusedWith(reason));
  });
});

describe("a status that is not the caller's fault", () => {
  it.each([301, 401, 403, 407, 408, 424, 425, 429, 500, 503, 599])(
    'is an upstream error without details: %i',
    (status) => {
      expect(
        refusalOfStatus(status, JSON.stringify({ error: { message: 'internal host db-7' } }), ''),
      ).toEqual(newRefusal({ code: 'upstream_error', message: 'The model failed to answer.' }));
    },
  );
});

it.each([LLAMA_CPP.loading, LLAMA_CPP.wrongKey, LLAMA_CPP.noImages])(
  'llama.cpp that cannot answer anyone is an upstream error: %j',
  (body) => {
    const { code } = refusalOfStatus(body.error.code, JSON.stringify(body), '');
    expect([code, refusalOfErrorEvent(body, '').code]).toEqual(['upstream_error', 'upstream_error']);
  },
);

describe('an error event', () => {
  it('is distinguished from a chunk', () => {
    expect(isErrorEvent({ error: { message: 'x' } })).toBe(true);
    expect(isErrorEvent({ error: 'x' })).toBe(true);
    expect(isErrorEvent({ object: 'error', message: 'x' })).toBe(true);
    expect(isErrorEvent({ error: null, choices: [] })).toBe(false);
    expect(isErrorEvent({ choices: [] })).toBe(false);
  });

  it("is a refusal if its code is a 4xx for the caller's fault, otherwise a failure", () => {
    expect(refusalOfErrorEvent({ error: { message: reason, code: 400 } }, '')).toEqual(refusedWith(reason));
    expect(refusalOfErrorEvent({ object: 'error', message: reason, code: 400 }, '').code).toBe(
      'model_refused',
    );
    expect(refusalOfErrorEvent({ error: { message: 'x', code: 500 } }, '').code).toBe('upstream_error');
    expect(refusalOfErrorEvent({ error: { message: 'x', code: 429 } }, '').code).toBe('upstream_error');
    expect(refusalOfErrorEvent({ error: 'x' }, '').code).toBe('upstream_error');
  });

  it('may have its status in several places, or only a word that says whose fault it is', () => {
    for (const error of [
      { error: { message: reason, http_status_code: 422 } },
      { error: { message: reason, code: '400' } },
      { error: reason, error_type: 'validation' },
      { error: { message: reason, type: 'invalid_request_error', code: null } },
      { error: { message: reason, code: 'context_length_exceeded' } },
    ]) {
      expect(refusalOfErrorEvent(error, '')).toEqual(refusedWith(reason));
    }
    expect(
      refusalOfErrorEvent({ error: { message: 'x', type: 'BadRequestError', code: 500 } }, '').code,
    ).toBe('upstream_error');
  });

  it('may be nested to any depth', () => {
    const nest = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000);
    const code = JSON.parse(`{"error":{"message":"x","code":${nest('[', ']')}}}`);
    expect(refusalOfErrorEvent(code, '').code).toBe('upstream_error');
    expect(refusalOfStatus(400, nest('{"error":', '}').replace(':}', ':1}'), '').message).toMatch(
      /no reason/,
    );
  });
});
