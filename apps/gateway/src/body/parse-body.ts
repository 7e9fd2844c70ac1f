import { isUtf8 } from 'node:buffer';
import { type CompletionRequest, type Refusal, validateCompletionRequest } from '@tidegate/contracts';
import { checkInlineImages } from '../images/inline.ts';

export type ParsedBody =
  | { readonly ok: true; readonly request: CompletionRequest }
  | { readonly ok: false; readonly refusal: Refusal };

const BYTE_ORDER_MARK = '\ufeff';

/** Bytes to a request in which nothing is left to validate but what its linked images are. A byte order mark is skipped. */
export async function parseBody(body: Uint8Array): Promise<ParsedBody> {
  if (!isUtf8(body)) return { ok: false, refusal: NOT_UTF8 };
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  const validated = validateCompletionRequest(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
  if (!validated.ok) return validated;
  const refusal = await checkInlineImages(validated.inlineImages);
  return refusal === null ? { ok: true, request: validated.request } : { ok: false, refusal };
}

const NOT_UTF8: Refusal = {
  code: 'invalid_json',
  message: 'The body is not valid JSON: it is not valid UTF-8.',
};
