import {
  type AnswerRule,
  description,
  PREFIX,
  problemWith,
  problemWithHeader,
  REQUEST,
  ruleOf,
} from './description.ts';
import { isException } from './exceptions.ts';
import { problemsOfStream } from './stream.ts';

/** A request to a gateway, and its answer. */
export interface RecordedExchange {
  readonly method: string;
  /** The target in the request line. */
  readonly target: string;
  /** Undefined: unknown. */
  readonly sent: string | Uint8Array | undefined;
  readonly status: number;
  /** The headers by lowercase name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
  /** Whether the server has ended the answer. Otherwise either side cut it short. */
  readonly over: boolean;
}

/** Headers of HTTP and of the transport, which are not part of the API. */
const TRANSPORT_HEADERS = [
  ...['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'content-type', 'date'],
  ...['cache-control', 'x-accel-buffering'],
];
/** A request that gets one of these codes had a body that fits the schema. */
const PAST_VALIDATION = [
  ...['model_not_found', 'model_text_only', 'plan_upgrade_required', 'model_refused', 'quota_exceeded'],
  ...['model_starting', 'model_unavailable', 'upstream_error'],
];

const REFUSED_FOR_SHAPE = ['invalid_json', 'invalid_request', 'unsupported_parameter'];

/** How an exchange differs from docs/openapi.yaml. Empty: not at all. */
export function problemsOf(exchange: RecordedExchange): string[] {
  const { method, status } = exchange;
  const path = exchange.target.replace(/\?.*$/s, '');
  const rule = ruleOf(method, path, status);
  if (rule === null) return [`status ${status} is not described`];
  const headers = problemsOfHeaders(rule, exchange);
  if (method === 'HEAD') return headers;
  const type = String(exchange.headers['content-type'] ?? '').replace(/;.*$/, '');
  const schema = rule.content[type];
  if (schema === undefined) return [...headers, `content type ${type} is not described`];
  const request = method === 'POST' && path === `${PREFIX}/chat/completions` ? readRequest(exchange) : null;
  if (type === 'text/event-stream') {
    const usageAsked = request ? includesUsage(request.json()) : null;
    const found = problemsOfStream(exchange.body, exchange.over, schema, usageAsked);
    return [...headers, ...found, ...(request ? problemsOfRequest(request, null) : [])];
  }
  if (!exchange.over) return headers;
  const answer = parseJson(exchange.body);
  const body = problemWith(schema, answer);
  if (body !== null) return [...headers, `body: ${body}`];
  const { error } = answer as { error?: Refusal };
  return [
    ...headers,
    ...(error ? problemsOfError(error, exchange) : problemsOfUsage(answer)),
    ...(request ? problemsOfRequest(request, error ?? null) : []),
  ];
}

function problemsOfHeaders(rule: AnswerRule, { headers }: RecordedExchange): string[] {
  const problems: string[] = [];
  for (const [name, header] of Object.entries(rule.headers)) {
    const value = headers[name];
    const problem = value === undefined ? null : problemWithHeader(header, String(value));
    if (value === undefined && header.required) problems.push(`header ${name} is missing`);
    if (problem !== null) problems.push(`header ${name}: ${problem}`);
  }
  for (const name of Object.keys(headers)) {
    if (!TRANSPORT_HEADERS.includes(name) && !rule.headers[name])
      problems.push(`header ${name} is not described`);
  }
  return problems;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly type: string;
}

function problemsOfError({ code, type }: Refusal, { status, headers }: RecordedExchange): string[] {
  const rule = description.components['x-errors'][code];
  if (!rule) return [`code ${code} is not described`];
  const is = { status, type, retryAfter: 'retry-after' in headers, shouldRetry: headers['x-should-retry'] };
  const due = { ...rule, shouldRetry: rule.shouldRetry === false ? 'false' : undefined };
  return Object.entries(due)
    .filter(([name, value]) => is[name as keyof typeof is] !== value)
    .map(([name, value]) => `${code} has ${name} ${is[name as keyof typeof is]}, and should have ${value}`);
}

function problemsOfUsage(answer: unknown): string[] {
  const { usage } = answer as { usage?: Record<string, number> | null };
  if (!usage) return [];
  const { prompt_tokens: prompt = 0, completion_tokens: completion = 0, total_tokens: total } = usage;
  return prompt + completion === total ? [] : ['usage does not add up'];
}

interface SentRequest {
  readonly text: string;
  /** Parses the body. Undefined: it is not JSON. */
  json(): unknown;
}

function readRequest({ sent }: RecordedExchange): SentRequest | null {
  if (sent === undefined) return null;
  const text = typeof sent === 'string' ? sent : decode(sent);
  const json = () => (text === null ? undefined : parseJson(text.replace(/^\ufeff/, '')));
  return { text: text ?? '', json };
}

/**
 * Accepted requests must fit the schema. Requests refused for their shape must not, or must be
 * exceptions.
 */
function problemsOfRequest(request: SentRequest, refusal: Refusal | null): string[] {
  if (refusal === null || PAST_VALIDATION.includes(refusal.code)) {
    const problem = problemOf(request.json());
    return problem === null ? [] : [`the request was accepted, and ${problem}`];
  }
  if (!REFUSED_FOR_SHAPE.includes(refusal.code)) return [];
  const json = request.json();
  if (refusal.code === 'invalid_json') {
    return json === undefined ? [] : ['the request was refused as no JSON, and is JSON'];
  }
  const wrong = problemOf(json) !== null || isException(refusal.message, request.text);
  return wrong ? [] : [`the request was refused (${refusal.message}), and fits the schema`];
}

const problemOf = (json: unknown): string | null =>
  json === undefined ? 'is not JSON' : problemWith(REQUEST, json);

const includesUsage = (json: unknown): boolean =>
  (json as { stream_options?: { include_usage?: unknown } | null } | undefined)?.stream_options
    ?.include_usage === true;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
