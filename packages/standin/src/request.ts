import { type Behaviour, parseDirectives } from './behaviour.ts';
import { CONTEXT_ERRORS, type UpstreamError, vllmError } from './errors.ts';
import { type SeenImage, seeImage } from './images.ts';
import { ANSWER_START_TOKENS, countTokens, imageTokens, MESSAGE_TOKENS } from './tokens.ts';

/** What requests are checked against. */
export interface StandinModel {
  readonly names: readonly string[];
  readonly kind: 'text' | 'vision';
  readonly contextTokens: number;
}

export interface StandinRequest {
  readonly model: string;
  readonly messageCount: number;
  readonly images: readonly SeenImage[];
  readonly promptTokens: number;
  /** Default: the rest of the context. */
  readonly maxTokens: number;
  readonly stops: readonly string[];
  readonly seed: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly behaviour: Behaviour;
}

type Members = Readonly<Record<string, unknown>>;
export type Read =
  | { readonly ok: true; readonly request: StandinRequest }
  | { readonly ok: false; readonly error: UpstreamError };

const refused = (status: number, message: string): Read => ({
  ok: false,
  error: vllmError(status, message),
});

/** Reads a parsed body. It checks only what it uses, unlike a gateway. */
export function parseRequest(body: unknown, model: StandinModel, defaults: Behaviour): Read {
  if (!isMembers(body) || !Array.isArray(body.messages) || body.messages.length === 0)
    return refused(400, 'messages must be a list with at least one message');
  const name = body.model;
  if (typeof name !== 'string' || !model.names.includes(name))
    return refused(404, `The model \`${String(name).slice(0, 100)}\` does not exist.`);

  const prompt = readMessages(body.messages);
  if ('problem' in prompt) return refused(400, prompt.problem);
  if (prompt.images.length > 0 && model.kind === 'text')
    return refused(400, `${name} is not a multimodal model`);
  const directives = parseDirectives(prompt.lastUserText);
  if (!directives.ok) return refused(400, directives.problem);
  const behaviour = { ...defaults, ...directives.value };

  const leftTokens = model.contextTokens - prompt.tokens;
  const maxTokens =
    integer(body.max_completion_tokens) ?? integer(body.max_tokens) ?? Math.max(leftTokens, 1);
  const contextError = CONTEXT_ERRORS[behaviour.error ?? (maxTokens > leftTokens ? 'context' : '')];
  if (contextError) {
    const need = { contextTokens: model.contextTokens, promptTokens: prompt.tokens, maxTokens };
    return { ok: false, error: contextError(need) };
  }
  if (behaviour.error !== undefined)
    return refused(400, `bad value for error: one of ${Object.keys(CONTEXT_ERRORS).join(', ')}`);

  const options = body.stream_options;
  return {
    ok: true,
    request: {
      model: name,
      messageCount: body.messages.length,
      images: prompt.images,
      promptTokens: prompt.tokens,
      maxTokens,
      stops: [body.stop].flat().filter((stop) => typeof stop === 'string'),
      seed: integer(body.seed) ?? 0,
      stream: body.stream === true,
      includeUsage: isMembers(options) && options.include_usage === true,
      behaviour,
    },
  };
}

interface Prompt {
  readonly tokens: number;
  readonly images: readonly SeenImage[];
  readonly lastUserText: string;
}

function readMessages(messages: readonly unknown[]): Prompt | { readonly problem: string } {
  const images: SeenImage[] = [];
  let tokens = ANSWER_START_TOKENS;
  let lastUserText = '';
  for (const message of messages) {
    if (!isMembers(message)) return { problem: 'a message must be an object' };
    const content = message.content ?? '';
    const parts: unknown[] =
      typeof content === 'string' ? [{ type: 'text', text: content }] : [content].flat();
    const texts: string[] = [];
    for (const part of parts) {
      if (!isMembers(part)) return { problem: 'a content part must be an object' };
      if (part.type === 'text') texts.push(String(part.text));
      else {
        const image = isMembers(part.image_url) ? seeImage(String(part.image_url.url)) : null;
        if (!image) return { problem: 'an image must be a data URL of a PNG, JPEG, WebP or GIF' };
        images.push(image);
        tokens += imageTokens(image.widthPx, image.heightPx);
      }
    }
    const text = texts.join('\n');
    tokens += MESSAGE_TOKENS + countTokens(text);
    if (message.role === 'user') lastUserText = text;
  }
  return { tokens, images, lastUserText };
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const integer = (value: unknown): number | undefined =>
  Number.isInteger(value) ? (value as number) : undefined;
