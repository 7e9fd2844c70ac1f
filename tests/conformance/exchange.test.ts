import { describe, expect, it } from '@jest/globals';
import { problemsOf, type RecordedExchange } from '../support/conformance/exchange.ts';

const HEADERS = { 'x-request-id': 'req_0123456789', 'content-type': 'application/json' };
const ADMITTED = {
  ...HEADERS,
  'x-ratelimit-limit-requests': '60',
  'x-ratelimit-remaining-requests': '59',
  'x-ratelimit-reset-requests': '1s',
};
const ASKED = { model: 'tide', messages: [{ role: 'user', content: 'Hi' }] };
const ANSWER = {
  id: 'chatcmpl-1a',
  object: 'chat.completion',
  created: 1,
  model: 'tide',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'x' }, logprobs: null, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
};

const whole = (more: Partial<RecordedExchange> = {}): RecordedExchange => ({
  method: 'POST',
  target: '/v1/chat/completions',
  sent: JSON.stringify(ASKED),
  status: 200,
  headers: ADMITTED,
  body: JSON.stringify(ANSWER),
  over: true,
  ...more,
});
const refused = (
  status: number,
  code: string,
  type: string,
  more: Partial<RecordedExchange> = {},
): RecordedExchange =>
  whole({
    status,
    headers: HEADERS,
    body: JSON.stringify({ error: { message: 'Why.', type, code } }),
    ...more,
  });
const limited = (headers: object) =>
  refused(429, 'rate_limit_exceeded', 'rate_limit_error', { headers: { ...HEADERS, ...headers } });

const ID = { id: 'chatcmpl-1a', object: 'chat.completion.chunk', created: 1, model: 'tide' };
const chunk = (delta: object, finish: string | null = null, id = ID.id) => ({
  ...ID,
  id,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
});
const ROLE = chunk({ role: 'assistant', content: '' });
const LAST = chunk({ content: 'x' }, 'stop');
const USAGE = { ...ID, choices: [], usage: ANSWER.usage };
const stream = (events: readonly (object | string)[], more: Partial<RecordedExchange> = {}) =>
  whole({
    headers: { ...ADMITTED, 'content-type': 'text/event-stream; charset=utf-8' },
    body: events
      .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
      .join(''),
    ...more,
  });
const asking = (includeUsage: boolean) =>
  JSON.stringify({ ...ASKED, stream: true, stream_options: { include_usage: includeUsage } });
const sending = (members: object) => ({ sent: JSON.stringify({ ...ASKED, ...members }) });
const SHAPE = ['invalid_request', 'invalid_request_error'] as const;

describe('an exchange as described', () => {
  it.each<[string, RecordedExchange]>([
    ['whole', whole()],
    ['without usage', whole({ body: JSON.stringify({ ...ANSWER, usage: null }) })],
    ['cut', whole({ body: '{"id":', over: false })],
    ['a stream', stream([ROLE, LAST, '[DONE]'])],
    ['a stream with usage', stream([ROLE, LAST, USAGE, '[DONE]'], { sent: asking(true) })],
    ['a stream whose model reported no usage', stream([ROLE, LAST, '[DONE]'], { sent: asking(true) })],
    ['an incomplete stream', stream([ROLE, chunk({ content: 'x' })], { over: false })],
    ['a cut stream', stream([ROLE], { body: 'data: {"id', over: false })],
    ['refused for its shape', refused(400, ...SHAPE, sending({ n: 2 }))],
    ['refused as not JSON', refused(400, 'invalid_json', 'invalid_request_error', { sent: '{' })],
    ['refused late', refused(404, 'model_not_found', 'invalid_request_error')],
    ['limited', limited({ 'retry-after': '1' })],
    ['no path', refused(404, 'not_found', 'invalid_request_error', { target: '/v1/x' })],
  ])('is accepted: %s', (_name, exchange) => {
    expect(problemsOf(exchange)).toEqual([]);
  });

  it('may be refused for what a schema cannot say', () => {
    const message = 'max_tokens must be an integer from 1 to 8192, written without fraction or exponent.';
    const body = JSON.stringify({ error: { message, type: SHAPE[1], code: SHAPE[0] } });
    const sent = JSON.stringify(ASKED).replace('{', '{"max_tokens":100.0,');
    expect(problemsOf(refused(400, ...SHAPE, { body, sent }))).toEqual([]);
    expect(problemsOf(refused(400, ...SHAPE, { body, sent: sent.replace('.0', '') }))).toHaveLength(1);
  });
});

describe('an exchange that differs from the description is seen by', () => {
  it.each<[string, RegExp, RecordedExchange]>([
    ['a member too many', /additional properties/, whole({ body: JSON.stringify({ ...ANSWER, extra: 1 }) })],
    ['a missing member', /required property 'object'/, whole({ body: '{"id":"chatcmpl-1","choices":[]}' })],
    ['a body that is not JSON', /body/, whole({ body: 'oops' })],
    [
      'usage that does not add up',
      /add up/,
      whole({ body: JSON.stringify({ ...ANSWER, usage: { ...ANSWER.usage, total_tokens: 4 } }) }),
    ],
    ['a status', /status 418/, whole({ status: 418 })],
    ['a status of another path', /status 200/, whole({ target: '/v1/x' })],
    ['a content type', /content type/, whole({ headers: { ...ADMITTED, 'content-type': 'text/html' } })],
    ['a missing header', /x-ratelimit-limit-requests is missing/, whole({ headers: HEADERS })],
    ['a header too many', /header server/, whole({ headers: { ...ADMITTED, server: 'x' } })],
    ['a header value', /x-request-id/, whole({ headers: { ...ADMITTED, 'x-request-id': '5' } })],
    ['no Retry-After [completions.retry-after]', /retry-after is missing/, limited({})],
    ['a Retry-After that is not a number', /retry-after/, limited({ 'retry-after': 'soon' })],
    ['x-should-retry', /shouldRetry/, limited({ 'retry-after': '1', 'x-should-retry': 'false' })],
    [
      'Retry-After where there is none',
      /model_unavailable has retryAfter true/,
      refused(503, 'model_unavailable', 'service_unavailable', {
        headers: { ...HEADERS, 'retry-after': '15', 'x-should-retry': 'false' },
      }),
    ],
    ['a type', /body/, refused(404, 'model_not_found', 'api_error')],
    ['a code under another status', /body/, refused(400, 'model_not_found', 'invalid_request_error')],
    ['an accepted request', /accepted, and/, whole(sending({ n: 2 }))],
    ['an accepted request in a stream', /accepted/, stream([ROLE, LAST, '[DONE]'], sending({ n: 2 }))],
    ['a request refused for no reason', /fits the schema/, refused(400, ...SHAPE)],
    ['JSON refused as not JSON', /is JSON/, refused(400, 'invalid_json', 'invalid_request_error')],
    ['a chunk', /event 1/, stream([ROLE, { ...LAST, extra: 1 }, '[DONE]'])],
    ['a line that is not data', /event 0 is no data line/, stream([ROLE], { body: ': x\n\ndata: y\n\n' })],
    ['no event', /at least one/, stream([])],
    ['a cut event', /not ended/, stream([], { body: 'data: {' })],
    ['two ids', /differ/, stream([ROLE, chunk({ content: 'x' }, 'stop', 'chatcmpl-2'), '[DONE]'])],
    ['no role', /the role/, stream([LAST, '[DONE]'])],
    ['a second role', /the role/, stream([ROLE, ROLE, LAST, '[DONE]'])],
    ['no finish reason', /before a finish reason/, stream([ROLE, '[DONE]'])],
    ['text after the end', /follows the finish reason/, stream([ROLE, LAST, LAST, '[DONE]'])],
    ['something after [DONE]', /follows \[DONE\]/, stream([ROLE, LAST, '[DONE]', LAST])],
    ['usage that nobody asked for', /nobody/, stream([ROLE, LAST, USAGE, '[DONE]'], { sent: asking(false) })],
    [
      'usage without a total',
      /event 2/,
      stream([ROLE, LAST, { ...USAGE, usage: { prompt_tokens: 1, completion_tokens: 1 } }, '[DONE]'], {
        sent: asking(true),
      }),
    ],
    ['an incomplete stream that ends in order', /not complete/, stream([ROLE, chunk({ content: 'x' })])],
    ['usage too early', /extra chunk/, stream([ROLE, USAGE, LAST, '[DONE]'])],
  ])('%s', (_name, problem, exchange) => {
    expect(problemsOf(exchange).join('\n')).toMatch(problem);
  });
});
