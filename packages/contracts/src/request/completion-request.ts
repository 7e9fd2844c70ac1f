import { LIMITS } from '@tidegate/limits';
import { isRefusal, newRefusal, type Refusal } from '../errors.ts';
import { FieldReader } from './fields.ts';
import type { InlineImage, LinkedImage } from './image-url.ts';
import { outlineJson } from './json-text.ts';
import { type MessageSegment, readMessages } from './messages.ts';
import { invalidRequest, showName } from './refusals.ts';

/*
 * The body of POST /v1/chat/completions. docs/conformance.md has the rules: "Chat completion
 * request body", "Message" and "Image rules". A member set to null counts as not sent, at every
 * depth.
 */

/**
 * A valid request, in the form the gateway works with. Nothing in it is parsed or escaped again.
 */
export interface CompletionRequest {
  /** As the caller sent it. Nothing has checked yet whether such a model is published. */
  readonly model: string;
  readonly stream: boolean;
  /** The caller asked for a usage chunk. */
  readonly includeUsage: boolean;
  /** The value of `max_completion_tokens`, else of `max_tokens`, else the default. */
  readonly maxTokens: number;
  /** The field that set `maxTokens`. Null: neither was sent. */
  readonly maxTokensFrom: 'max_completion_tokens' | 'max_tokens' | null;
  /** Fields for the upstream: always `temperature`, and `top_p` and `stop` (an array) when sent. */
  readonly sampling: Readonly<Record<string, number | string[]>>;
  /** Null: not sent. */
  readonly seed: bigint | null;
  /** Linked and inline images together. */
  readonly imageCount: number;
  readonly linkedImages: readonly LinkedImage[];
  /** Nothing has checked yet whether they are of the declared types. */
  readonly inlineImages: readonly InlineImage[];
  /**
   * The messages array as normalized JSON in UTF-8. It is cut wherever the data URL of a linked
   * image must be inserted, as a JSON string.
   */
  readonly messages: readonly MessageSegment[];
}

const FIELDS = [
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'stop',
  'seed',
  'n',
  'stream',
  'stream_options',
  'user',
];

/**
 * The most JSON values in one body. 2 MiB of text parts always have fewer. 20 MiB of empty objects
 * would be seven million values and take half a gigabyte of memory.
 */
const MAX_VALUES = 500_000;
/**
 * The most fields in one body, and the most members in any object in it. More than the API has,
 * because those set to null count as not sent. Building wide objects takes longer than reading
 * their text.
 */
const MAX_FIELDS = 100;
/** Far more than a valid body needs. JSON.parse takes long for deeply nested text. */
const MAX_DEPTH = 100;

/**
 * Validates a body, or refuses it by the first rule that it breaks. Unsupported fields come first,
 * before anything is parsed. The scan for them continues to the end of the text only because
 * invalid JSON must be refused as such, whatever its fields. The scan creates nothing: it takes 0.2
 * ms for 32 KiB, less than the rest of a small request. Larger bodies are left to a worker thread.
 */
export function validateCompletionRequest(text: string): CompletionRequest | Refusal {
  const outline = outlineJson(text, { values: MAX_VALUES, names: MAX_FIELDS });
  if (outline === null) return newRefusal({ code: 'invalid_json', message: 'The body is not valid JSON.' });
  const { members } = outline;
  if (members === null) return invalidRequest('The body must be a JSON object.');
  for (const [name, span] of members) {
    if (!FIELDS.includes(name) && text[span.start] !== 'n') return unsupported(name);
  }
  if (outline.names > MAX_FIELDS) {
    return invalidRequest(`The body must contain at most ${MAX_FIELDS} fields.`);
  }
  if (outline.widest > MAX_FIELDS) {
    return invalidRequest(`An object in the body must have at most ${MAX_FIELDS} members.`);
  }
  if (outline.values > MAX_VALUES) {
    return invalidRequest(`The body must contain at most ${MAX_VALUES} JSON values.`);
  }
  if (outline.depth > MAX_DEPTH) {
    return invalidRequest(`The body must be nested at most ${MAX_DEPTH} deep.`);
  }
  const body = JSON.parse(text) as Record<string, unknown>;
  return validateFields(
    new FieldReader(body, (name) => {
      const span = members.get(name);
      return span === undefined ? '' : text.slice(span.start, span.end);
    }),
  );
}

function validateFields(fields: FieldReader): CompletionRequest | Refusal {
  const model = fields.name('model');
  const messages = fields.refusal ?? readMessages(fields.sent('messages'));
  if (isRefusal(messages)) return messages;
  const maxTokens = readMaxTokens(fields);
  const sampling = readSampling(fields);
  const seed = fields.int64('seed');
  fields.integer('n', LIMITS.choices, LIMITS.choices);
  const stream = fields.boolean('stream') ?? false;
  const includeUsage = readStreamOptions(fields, stream);
  fields.string('user');
  if (fields.refusal) return fields.refusal;
  // Named one by one: on Node 20, each copy of another object takes microseconds.
  return {
    model,
    stream,
    includeUsage,
    maxTokens: maxTokens.maxTokens,
    maxTokensFrom: maxTokens.maxTokensFrom,
    sampling,
    seed,
    imageCount: messages.imageCount,
    linkedImages: messages.linkedImages,
    inlineImages: messages.inlineImages,
    messages: messages.messages,
  };
}

function readMaxTokens(fields: FieldReader): Pick<CompletionRequest, 'maxTokens' | 'maxTokensFrom'> {
  const { minMaxTokens, maxMaxTokens, defaultMaxTokens } = LIMITS;
  const maxTokens = fields.integer('max_tokens', minMaxTokens, maxMaxTokens);
  const newer = fields.integer('max_completion_tokens', minMaxTokens, maxMaxTokens);
  if (newer !== undefined) return { maxTokens: newer, maxTokensFrom: 'max_completion_tokens' };
  if (maxTokens !== undefined) return { maxTokens, maxTokensFrom: 'max_tokens' };
  return { maxTokens: defaultMaxTokens, maxTokensFrom: null };
}

function readSampling(fields: FieldReader): Record<string, number | string[]> {
  const { minTemperature, maxTemperature, defaultTemperature, minTopP, maxTopP } = LIMITS;
  const temperature = fields.number(
    'temperature',
    `from ${minTemperature} to ${maxTemperature}`,
    (value) => value >= minTemperature && value <= maxTemperature,
  );
  const topP = fields.number(
    'top_p',
    `greater than ${minTopP} and at most ${maxTopP}`,
    (value) => value > minTopP && value <= maxTopP,
  );
  const stop = readStop(fields);
  return {
    temperature: temperature ?? defaultTemperature,
    ...(topP !== undefined && { top_p: topP }),
    ...(stop.length > 0 && { stop }),
  };
}

/** An empty array is valid ("up to 4 strings") and means no stop strings. */
function readStop(fields: FieldReader): string[] {
  const sent = fields.sent('stop');
  if (sent === undefined) return [];
  const { maxStops, minStopCharacters, maxStopCharacters } = LIMITS;
  const allowed = `a string or an array of up to ${maxStops} strings, each of ${minStopCharacters} to ${maxStopCharacters} characters`;
  const stops: unknown[] = Array.isArray(sent) ? sent : [sent];
  if (stops.length > maxStops || !stops.every(isStop)) return fields.fail(`stop must be ${allowed}.`, []);
  return stops.map((stop) => stop.toWellFormed());
}

/** Characters are Unicode code points. Each takes at most two units of a JavaScript string. */
const isStop = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length >= LIMITS.minStopCharacters &&
  value.length <= 2 * LIMITS.maxStopCharacters &&
  [...value].length <= LIMITS.maxStopCharacters;

function readStreamOptions(fields: FieldReader, stream: boolean): boolean {
  const sent = fields.sent('stream_options');
  if (sent === undefined) return false;
  if (typeof sent !== 'object' || Array.isArray(sent)) {
    return fields.fail(
      'stream_options must be an object with the member include_usage (true or false).',
      false,
    );
  }
  const options = sent as Record<string, unknown>;
  const other = Object.keys(options).find((name) => name !== 'include_usage' && options[name] !== null);
  if (other !== undefined) return fields.reject(unsupported(other, 'stream_options'), false);
  const includeUsage = options.include_usage ?? false;
  if (typeof includeUsage !== 'boolean') {
    return fields.fail('stream_options.include_usage must be true or false.', false);
  }
  if (!stream) return fields.fail('stream_options is allowed only with stream set to true.', false);
  return includeUsage;
}

function unsupported(name: string, within?: string): Refusal {
  const taken = within === undefined ? FIELDS.join(', ') : 'include_usage';
  const field = within === undefined ? showName(name) : `${within}.${showName(name)}`;
  const where = within === undefined ? 'This API takes' : `${within} takes`;
  const message = `Unsupported parameter: ${field}. ${where}: ${taken}.`;
  return newRefusal({ code: 'unsupported_parameter', message });
}
