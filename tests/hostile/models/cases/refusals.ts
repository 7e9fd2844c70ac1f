import { gzipSync } from 'node:zlib';
import { ANSWER, chunk, chunkedHead, DONE, event, HEL, HELLO, head, LO, streamed, whole } from '../bytes.ts';
import type { Play } from '../server.ts';
import { brokenOff, type Case, failed, failedBoth, MODEL_FAILED_TEXT, says } from './case.ts';

/** Models that refuse, each in the dialect of its server, by the status or inside an answer. */

const status = (line: string, body: unknown, type = 'content-type: application/json') =>
  says(whole(typeof body === 'string' ? body : JSON.stringify(body), { status: line, type }));
const refused = (message: string) => ({ code: 'model_refused', message, connection: 'kept' }) as const;
const UNREADABLE = 'The model sent an answer that cannot be read.';
const NO_REASON = 'The model refused the request and gave no reason.';

const VLLM =
  "You passed 4000 input tokens and requested 512 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3584 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=4000)";
const OLDER_VLLM =
  "This model's maximum context length is 4096 tokens. However, you requested 4512 tokens (4000 in the messages, 512 in the completion). Please reduce the length of the messages or completion.";
const LLAMACPP =
  'the request exceeds the available context size. try increasing the context size or enable context shift';
const OLLAMA = 'the input length exceeds the context length';
const SGLANG = "The input (4000 tokens) is longer than the model's context length (3584 tokens).";
const TGI =
  'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 512 `max_new_tokens`';

const vllm = { error: { message: VLLM, type: 'BadRequestError', param: 'input_tokens', code: 400 } };
const flat = (message: string) => ({
  object: 'error',
  message,
  type: 'BadRequestError',
  param: null,
  code: 400,
});
const llamacpp = {
  code: 400,
  message: LLAMACPP,
  type: 'exceed_context_size_error',
  n_prompt_tokens: 4000,
  n_ctx: 3584,
};
const ollama = { error: { message: OLLAMA, type: 'invalid_request_error', param: null, code: null } };
const tgi = { error: TGI, error_type: 'validation' };

/** How servers say that the context length is exceeded. */
export const DIALECTS: readonly Case[] = [
  ...failedBoth('vLLM', status('400 Bad Request', vllm), refused(VLLM)),
  ...failedBoth('older vLLM', status('400 Bad Request', flat(OLDER_VLLM)), refused(OLDER_VLLM)),
  ...failedBoth('llama.cpp', status('400 Bad Request', { error: llamacpp }), refused(LLAMACPP)),
  ...failedBoth('Ollama', status('400 Bad Request', ollama), refused(OLLAMA)),
  ...failedBoth('Ollama, its own API', status('400 Bad Request', { error: OLLAMA }), refused(OLLAMA)),
  ...failedBoth('SGLang', status('400 Bad Request', flat(SGLANG)), refused(SGLANG)),
  ...failedBoth('TGI', status('422 Unprocessable Entity', tgi), refused(TGI)),
  ...failedBoth(
    'FastAPI',
    status('422 Unprocessable Entity', {
      detail: [{ loc: ['body', 'messages'], msg: 'too long', type: 'value_error' }],
    }),
    refused('too long'),
  ),
  ...failedBoth(
    'plain text',
    status('413 Payload Too Large', ' too\r\n long ', 'content-type: text/plain'),
    refused('too long'),
  ),
  ...failedBoth(
    'words of HTML',
    status('400 Bad Request', '<html>bad</html>', 'content-type: text/html'),
    refused(NO_REASON),
  ),
  ...failedBoth('no words', status('404 Not Found', ''), refused(NO_REASON)),
  ...failedBoth('half an error, then broken off', brokenError, {
    ...refused(NO_REASON),
    connection: 'ended',
  }),
  ...failedBoth('an error without end', endlessError, {
    code: 'model_refused',
    message: `${'x'.repeat(1_000)}…`,
  }),
  ...failedBoth(
    'an error nested without end',
    status('400 Bad Request', `${'{"error":'.repeat(6_000)}1${'}'.repeat(6_000)}`),
    refused(NO_REASON),
  ),
  ...failedBoth(
    'an error that stalls',
    says(head('400 Bad Request', 'content-type: text/plain', 'content-length: 999'), 'too long'),
    { code: 'model_refused', message: 'too long', slow: true },
  ),
  ...failedBoth(
    'an error in an encoding nobody asked for',
    gzipped('400 Bad Request', JSON.stringify(vllm)),
    { code: 'model_refused', message: NO_REASON },
  ),
];

async function brokenError(wire: Parameters<Play>[0]): Promise<void> {
  await says(head('400 Bad Request', 'content-type: text/html', 'content-length: 999'), '<html>')(wire);
  wire.end();
}

async function endlessError(wire: Parameters<Play>[0]): Promise<void> {
  await wire.write(head('400 Bad Request', 'content-type: text/plain'));
  while (await wire.write('x'.repeat(8_192)));
}

function gzipped(line: string, text: string): Play {
  return says(
    whole(gzipSync(text), { status: line, type: 'content-type: application/json\r\ncontent-encoding: gzip' }),
  );
}

const SECRET = { error: { message: 'key sk-secret of host db-7' } };
/** Failures that are not the caller's fault. No part of the model's message is relayed. */
export const STATUSES: readonly Case[] = [
  ...[
    '401 Unauthorized',
    '403 Forbidden',
    '407 Proxy Authentication Required',
    '408 Request Timeout',
    '424 Failed Dependency',
    '425 Too Early',
    '429 Too Many Requests',
  ].map((line) => failed(line, status(line, SECRET), { message: MODEL_FAILED_TEXT, connection: 'kept' })),
  ...[
    '500 Internal Server Error',
    '502 Bad Gateway',
    '503 Service Unavailable',
    '504 Gateway Timeout',
    '529 Overloaded',
    '999 Odd',
  ].flatMap((line) =>
    failedBoth(line, status(line, SECRET), { message: MODEL_FAILED_TEXT, connection: 'kept' }),
  ),
  ...['301 Moved Permanently', '302 Found', '307 Temporary Redirect', '308 Permanent Redirect'].flatMap(
    (line) =>
      failedBoth(line, says(head(line, 'location: /elsewhere', 'content-length: 0')), {
        message: MODEL_FAILED_TEXT,
        connection: 'kept',
      }),
  ),
  failed('201 Created', status('201 Created', ANSWER), { message: MODEL_FAILED_TEXT, connection: 'kept' }),
  failed('204 No Content', says(head('204 No Content')), { message: MODEL_FAILED_TEXT, connection: 'kept' }),
  failed('206 Partial Content', status('206 Partial Content', ANSWER), {
    message: MODEL_FAILED_TEXT,
    connection: 'kept',
  }),
  failed('gzip', gzipped('200 OK', ANSWER), { message: UNREADABLE }),
  failed('gzip', gzipped('200 OK', HELLO), { message: UNREADABLE, streamed: true }),
];

const first = (...bytes: string[]) => says(chunkedHead(), chunk(...bytes));
const firstRefused = (message: string) => ({ code: 'model_refused', message, streamed: true }) as const;
const nested = `{"code":400,"error":${'{"error":'.repeat(100_000)}1${'}'.repeat(100_001)}`;
const nestedCode = `{"error":{"message":"no","code":${'['.repeat(100_000)}400${']'.repeat(100_000)}}}`;

/** Errors inside an answer with status 200. */
export const IN_BAND: readonly Case[] = [
  failed('first event, vLLM', first(event(vllm), DONE), firstRefused(VLLM)),
  failed('first event, older vLLM', first(event(flat(OLDER_VLLM)), DONE), firstRefused(OLDER_VLLM)),
  failed('first event, SGLang', first(event({ error: flat(SGLANG) }), DONE), firstRefused(SGLANG)),
  failed('first event, llama.cpp', first(event({ error: llamacpp })), firstRefused(LLAMACPP)),
  failed(
    'first event, older llama.cpp',
    first(`error: ${JSON.stringify(llamacpp)}\n\n`),
    firstRefused(LLAMACPP),
  ),
  failed('first event, Ollama', first(event(ollama)), firstRefused(OLLAMA)),
  failed(
    'first event, TGI',
    first(event({ error: { message: TGI, http_status_code: 422 } })),
    firstRefused(TGI),
  ),
  failed('first event, older TGI', first(event(tgi)), firstRefused(TGI)),
  failed(
    'first event, code as a string',
    first(event({ error: { message: 'no', code: '404' } })),
    firstRefused('no'),
  ),
  failed(
    'first event, code in words',
    first(event({ error: { message: 'no', code: 'context_length_exceeded' } })),
    firstRefused('no'),
  ),
  failed('first event, nested without end', first(event(nested)), firstRefused(NO_REASON)),
  ...[
    SECRET,
    { error: 'out of memory' },
    { error: { ...SECRET.error, code: 500 } },
    { error: { ...SECRET.error, code: 429 } },
    { error: true },
    { error: '' },
  ].map((error) =>
    failed(`first event, ${JSON.stringify(error)}`, first(event(error), DONE), {
      message: MODEL_FAILED_TEXT,
      streamed: true,
    }),
  ),
  failed('whole, vLLM', says(whole(JSON.stringify(vllm))), refused(VLLM)),
  failed('whole, SGLang', says(whole(JSON.stringify(flat(SGLANG)))), refused(SGLANG)),
  failed('whole, TGI', says(whole(JSON.stringify(tgi))), refused(TGI)),
  failed('whole, a failure', says(whole(JSON.stringify(SECRET))), {
    message: MODEL_FAILED_TEXT,
    connection: 'kept',
  }),
  failed('whole, its code nested without end', says(whole(nestedCode)), {
    message: MODEL_FAILED_TEXT,
    connection: 'kept',
  }),
  failed('whole, nested without end', says(whole(nested)), refused(NO_REASON)),
  ...[vllm, flat(SGLANG), { error: llamacpp }, ollama, tgi, SECRET, { error: 'out of memory' }].map((error) =>
    brokenOff(
      `mid-stream, ${JSON.stringify(error).slice(0, 60)}`,
      says(streamed(HEL, event(error), LO, DONE)),
      'upstream_error',
    ),
  ),
  brokenOff(
    'mid-stream, older llama.cpp',
    says(streamed(HEL, `error: ${JSON.stringify(llamacpp)}\n\n`, LO, DONE)),
    'upstream_error',
  ),
  brokenOff('after the finish reason', says(streamed(HEL, LO, event(SECRET), DONE)), 'upstream_error', {
    pieces: ['Hel', 'lo'],
  }),
];
