import { LIMITS } from '@tidegate/limits';
import { isRefusal, PASSED, type Passed, type Refusal } from '../errors.ts';
import { type InlineImage, type LinkedImage, readImageUrl } from './image-url.ts';
import { invalidRequest, showName } from './refusals.ts';

const encoder = new TextEncoder();
const ROLES = ['system', 'user', 'assistant'];
const MESSAGES = `an array of ${LIMITS.minMessages} to ${LIMITS.maxMessages} messages`;

/** A piece of the messages' JSON, or the place where the linked image with this index goes. */
export type MessageSegment = Uint8Array | { readonly image: number };

export interface Messages {
  readonly messages: readonly MessageSegment[];
  readonly imageCount: number;
  readonly linkedImages: readonly LinkedImage[];
  readonly inlineImages: readonly InlineImage[];
}

/** Validates the messages and writes them as JSON that has only the contract's members. */
export function readMessages(sent: unknown): Messages | Refusal {
  if (sent === undefined) return refuse('messages', `is required: ${MESSAGES}`);
  if (!Array.isArray(sent) || sent.length < LIMITS.minMessages || sent.length > LIMITS.maxMessages) {
    return refuse('messages', `must be ${MESSAGES}`);
  }
  const writer = new MessagesWriter();
  for (const [index, message] of sent.entries()) {
    writer.text(index === 0 ? '[' : ',');
    const read = readMessage(message, `messages[${index}]`, writer);
    if (isRefusal(read)) return read;
  }
  writer.text(']');
  return writer.finish();
}

function readMessage(message: unknown, path: string, writer: MessagesWriter): Passed | Refusal {
  if (!isObject(message)) return refuse(path, 'must be an object with role and content');
  const other = otherMember(message, ['role', 'content']);
  if (other !== undefined)
    return refuse(`${path}.${other}`, 'is not allowed: a message has exactly role and content');
  const { role, content } = message;
  if (typeof role !== 'string' || !ROLES.includes(role)) {
    return refuse(`${path}.role`, mustBe('system, user or assistant', role));
  }
  writer.text(`{"role":"${role}","content":`);
  const read = readContent(content, `${path}.content`, role, writer);
  writer.text('}');
  return read;
}

function readContent(content: unknown, path: string, role: string, writer: MessagesWriter): Passed | Refusal {
  if (typeof content === 'string') {
    writer.string(content);
    return PASSED;
  }
  if (!Array.isArray(content) || content.length === 0) {
    return refuse(path, mustBe('a string or an array of one or more content parts', content));
  }
  for (const [index, part] of content.entries()) {
    writer.text(index === 0 ? '[' : ',');
    const read = readPart(part, `${path}[${index}]`, role, writer);
    if (isRefusal(read)) return read;
  }
  writer.text(']');
  return PASSED;
}

function readPart(part: unknown, path: string, role: string, writer: MessagesWriter): Passed | Refusal {
  if (!isObject(part)) return refuse(path, 'must be an object: a text or an image_url part');
  if (part.type === 'text') return readText(part, path, writer);
  if (part.type === 'image_url') return readImage(part, path, role, writer);
  return refuse(`${path}.type`, mustBe('text or image_url', part.type));
}

function readText(part: JsonObject, path: string, writer: MessagesWriter): Passed | Refusal {
  const other = otherMember(part, ['type', 'text']);
  if (other !== undefined)
    return refuse(`${path}.${other}`, 'is not allowed: a text part has exactly type and text');
  if (typeof part.text !== 'string') return refuse(`${path}.text`, mustBe('a string', part.text));
  writer.text('{"type":"text","text":');
  writer.string(part.text);
  writer.text('}');
  return PASSED;
}

function readImage(part: JsonObject, path: string, role: string, writer: MessagesWriter): Passed | Refusal {
  const other = otherMember(part, ['type', 'image_url']);
  if (other !== undefined)
    return refuse(`${path}.${other}`, 'is not allowed: an image part has exactly type and image_url');
  if (role !== 'user') return refuse(path, 'must be a text part: images are allowed in user messages only');
  const image = part.image_url;
  if (!isObject(image)) {
    return refuse(`${path}.image_url`, mustBe('an object with the member url', image));
  }
  const another = otherMember(image, ['url', 'detail']);
  if (another !== undefined) {
    return refuse(`${path}.image_url.${another}`, 'is not allowed: image_url has the members url and detail');
  }
  if (typeof image.url !== 'string') {
    return refuse(`${path}.image_url.url`, mustBe('a string', image.url));
  }
  writer.text('{"type":"image_url","image_url":{"url":');
  const problem = writer.image(image.url, `${path}.image_url.url`);
  writer.text('}}');
  return problem === null ? PASSED : refuse(`${path}.image_url.url`, problem);
}

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is wrong with a value that is not `what`. A required one may be missing altogether. */
const mustBe = (what: string, value: unknown): string =>
  `${value === undefined || value === null ? 'is required and ' : ''}must be ${what}`;

/** A member that is not `allowed`, as error messages show it. Members set to null do not count. */
function otherMember(object: JsonObject, allowed: readonly string[]): string | undefined {
  const other = Object.keys(object).find((name) => !allowed.includes(name) && object[name] !== null);
  return other === undefined ? undefined : showName(other);
}

const refuse = (path: string, problem: string): Refusal => invalidRequest(`${path} ${problem}.`);

/** Twelve bytes. The signature of no accepted type is longer. */
const BEGIN_CHARACTERS = 16;

/** Collects the messages' JSON and their images. */
class MessagesWriter {
  #json = '';
  readonly #segments: MessageSegment[] = [];
  readonly #linkedImages: LinkedImage[] = [];
  readonly #inlineImages: InlineImage[] = [];

  /** Adds text that is JSON already. */
  text(json: string): void {
    this.#json += json;
  }

  /**
   * Adds a JSON string. Lone surrogates become U+FFFD: they have no UTF-8 form, and upstreams fail
   * on their escapes.
   */
  string(value: string): void {
    this.#json += JSON.stringify(value.toWellFormed());
  }

  /**
   * Adds an image's URL, a data URL in its plainest form. Returns what is wrong with the URL, or
   * null.
   */
  image(url: string, path: string): string | null {
    if (this.#linkedImages.length + this.#inlineImages.length === LIMITS.maxImages) {
      return `is one image too many: a request has at most ${LIMITS.maxImages} images, counted across all messages`;
    }
    const read = readImageUrl(url);
    if (read.kind === 'invalid') return read.problem;
    if (read.kind === 'inline') {
      const { declaredType, base64 } = read;
      this.#inlineImages.push({ path, declaredType, begin: base64.slice(0, BEGIN_CHARACTERS) });
      this.#json += `"data:${declaredType};base64,${base64}"`;
      return null;
    }
    const index = this.#linkedImages.length;
    this.#linkedImages.push({ url, index, path });
    this.#cut();
    this.#segments.push({ image: index });
    return null;
  }

  finish(): Messages {
    this.#cut();
    return {
      messages: this.#segments,
      imageCount: this.#linkedImages.length + this.#inlineImages.length,
      linkedImages: this.#linkedImages,
      inlineImages: this.#inlineImages,
    };
  }

  #cut(): void {
    this.#segments.push(encoder.encode(this.#json));
    this.#json = '';
  }
}
