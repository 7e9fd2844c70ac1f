import { LIMITS } from '@tidegate/limits';
import { IMAGE_TYPES, type ImageType } from '../image-types.ts';

/*
 * The two forms of an image's URL, according to docs/conformance.md, "Image rules". This file
 * checks the URL alone. The gateway checks the image's bytes.
 */

export interface LinkedImage {
  /** An https URL without credentials. */
  readonly url: string;
  /** Index among the request's linked images. A cut in the messages refers to it. */
  readonly index: number;
  /** The field that contains it, for error messages: `messages[1].content[0].image_url.url`. */
  readonly path: string;
}

export interface InlineImage {
  readonly path: string;
  readonly declaredType: ImageType;
  /** The first 12 bytes, or all if there are fewer, as base64. */
  readonly begin: string;
}

export type ImageUrl =
  | { readonly kind: 'linked' }
  /** `base64` is valid, padded and not empty, and has no white space. */
  | { readonly kind: 'inline'; readonly declaredType: ImageType; readonly base64: string }
  /** `problem` continues a sentence that begins with the field's path. */
  | { readonly kind: 'invalid'; readonly problem: string };

/** Scheme, type and `base64` may be in upper case. */
const DATA_HEAD = /^data:([^;,]*);base64,/i;
/** Some encoders break the base64 into lines. */
const WHITE_SPACE = /[\t\n\r ]+/g;
/** A declared type that is short and plain enough to appear in an error message. */
const SHOWN_TYPE = /^[a-z0-9.+-]{1,32}\/[a-z0-9.+-]{1,32}$/;

export function readImageUrl(url: string): ImageUrl {
  if (url.startsWith('https://')) {
    const problem = linkProblem(url);
    return problem === null ? { kind: 'linked' } : invalid(problem);
  }
  if (/^data:/i.test(url)) return readDataUrl(url);
  return invalid('must start with https:// or be a base64 data URL of a PNG, JPEG, WebP or GIF');
}

function readDataUrl(url: string): ImageUrl {
  const [head, type] = DATA_HEAD.exec(url) ?? [];
  if (head === undefined || type === undefined)
    return invalid('must have the form data:<type>;base64,<data> if it is a data URL');
  const declared = type.toLowerCase();
  const declaredType = IMAGE_TYPES.find((known) => known === declared);
  if (declaredType === undefined) {
    const shown = SHOWN_TYPE.test(declared) ? `the type ${declared}` : 'another type';
    return invalid(`declares ${shown}: a data URL must declare one of ${IMAGE_TYPES.join(', ')}`);
  }
  const base64 = url.slice(head.length).replace(WHITE_SPACE, '');
  if (base64 === '') return invalid('has no data after the comma');
  if (!isBase64(base64)) return invalid('must have valid base64, with padding, after the comma');
  return { kind: 'inline', declaredType, base64 };
}

const invalid = (problem: string): ImageUrl => ({ kind: 'invalid', problem });

function linkProblem(url: string): string | null {
  const maxCharacters = LIMITS.imageLinkMaxCharacters;
  if (url.length > 2 * maxCharacters || [...url].length > maxCharacters) {
    return `must have at most ${maxCharacters} characters if it is a link`;
  }
  if (/[\s\p{Cc}\p{Surrogate}]/u.test(url)) return 'must not contain spaces or control characters';
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null) return 'must be a valid URL';
  if (parsed.username !== '' || parsed.password !== '') return 'must not contain a user name or password';
  return null;
}

/**
 * Checks the last four characters separately. The rest then needs only one character class, which
 * is fast on 20 MiB and never makes the matcher recurse.
 */
function isBase64(text: string): boolean {
  if (text.length === 0 || text.length % 4 !== 0) return false;
  const last = text.slice(-4);
  if (!/^(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)$/.test(last))
    return false;
  return !/[^A-Za-z0-9+/]/.test(text.slice(0, -4));
}
