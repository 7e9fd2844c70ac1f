import { newRefusal, type Refusal } from '@tidegate/contracts';
import { parseJson } from './json.ts';

const MAX_MESSAGE_CHARACTERS = 1_000;
/** How deep to look for the message in an error. Bounded so that no model can exhaust the stack. */
const MAX_MESSAGE_DEPTH = 6;
const NO_REASON = 'The model refused the request and gave no reason.';

/**
 * Statuses that do not mean the caller sent something wrong. 401, 403 and 407 concern our own
 * credentials, and callers must not see what those answers say. The others may work next time (408,
 * 425, 429; TGI reports a failed generation as 424). See docs/adr/0007.
 */
const NOT_THE_CALLERS_FAULT = new Set([401, 403, 407, 408, 424, 425, 429]);

const CALLERS_ERRORS = new Set<unknown>([
  'BadRequestError',
  'context_length_exceeded',
  'exceed_context_size_error',
  'invalid_request_error',
  'validation',
]);

export const upstreamError = (message: string): Refusal => newRefusal({ code: 'upstream_error', message });

export const MODEL_FAILED = upstreamError('The model failed to answer.');
export const ENDED_EARLY = upstreamError('The model ended its answer too early.');
export const UNREADABLE = upstreamError('The model sent an answer that cannot be read.');
export const TOO_LARGE = upstreamError("The model's answer is too large.");

/**
 * The refusal for a status other than 200 from a model. It quotes the model's own words if the
 * caller can act on them.
 * @param upstreamKey the key sent to the model, which no caller may see; empty for none
 */
export function refusalOfStatus(status: number, body: string, upstreamKey: string): Refusal {
  if (!isCallersFault(status)) return MODEL_FAILED;
  return modelRefused(messageOf(parse(body)), upstreamKey);
}

/** The refusal for an error inside an answer with status 200, before anything was relayed. */
export function refusalOfErrorEvent(event: unknown, upstreamKey: string): Refusal {
  const error = memberOf(event, 'error') ?? event;
  const status = statusIn(error) ?? statusIn(event);
  const callers = status === null ? blamesCaller(error) || blamesCaller(event) : isCallersFault(status);
  return callers ? modelRefused(messageOf(event), upstreamKey) : MODEL_FAILED;
}

function modelRefused(reason: string | null, upstreamKey: string): Refusal {
  // Some servers quote the headers that they received.
  const mayBeTold = reason !== null && (upstreamKey === '' || !reason.includes(upstreamKey));
  return newRefusal({ code: 'model_refused', message: mayBeTold ? shortened(reason) : NO_REASON });
}

const shortened = (line: string): string =>
  line.length > MAX_MESSAGE_CHARACTERS ? `${line.slice(0, MAX_MESSAGE_CHARACTERS)}…` : line;

const isCallersFault = (status: number): boolean =>
  status >= 400 && status <= 499 && !NOT_THE_CALLERS_FAULT.has(status);

/**
 * The status that an error names. Servers put it in different fields; `http_status_code` is TGI's.
 */
function statusIn(error: unknown): number | null {
  for (const name of ['code', 'status_code', 'http_status_code']) {
    const named = memberOf(error, name);
    const status = typeof named === 'string' ? Number(named) : named;
    if (Number.isInteger(status) && (status as number) > 0) return status as number;
  }
  return null;
}

/** If a server names no status, the kind of error shows whose fault it was. */
const blamesCaller = (error: unknown): boolean =>
  ['code', 'type', 'error_type'].some((name) => CALLERS_ERRORS.has(memberOf(error, name)));

/**
 * Whether a chunk or a whole answer is really an error: `{"error": …}`, or
 * `{"object": "error", …}` from SGLang and older vLLM.
 */
export const isErrorEvent = (event: unknown): boolean => {
  const error = memberOf(event, 'error');
  return (error !== undefined && error !== null && error !== false) || memberOf(event, 'object') === 'error';
};

/**
 * Finds the reason where servers put it: `error.message` (vLLM, llama.cpp, Ollama), `message`
 * (SGLang, older vLLM), `error` as a string (TGI, Ollama), `detail` as a string or a list of `msg`
 * (FastAPI), or plain text.
 */
function messageOf(answer: unknown, depth = MAX_MESSAGE_DEPTH): string | null {
  if (typeof answer === 'string') return oneLine(answer);
  if (depth === 0 || typeof answer !== 'object') return null;
  for (const name of ['error', 'message', 'detail', 'msg']) {
    const member = memberOf(answer, name);
    const message = messageOf(Array.isArray(member) ? member[0] : member, depth - 1);
    if (message) return message;
  }
  return null;
}

function oneLine(text: string): string | null {
  const line = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return line === '' || line.startsWith('<') ? null : line;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** Parses JSON. A body that is not JSON is returned as text. */
function parse(body: string): unknown {
  try {
    return parseJson(body);
  } catch {
    return body;
  }
}
