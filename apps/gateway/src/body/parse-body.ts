import { isUtf8 } from 'node:buffer';
import {
  type CompletionRequest,
  isRefusal,
  newRefusal,
  type Refusal,
  validateCompletionRequest,
} from '@tidegate/contracts';
import { withoutByteOrderMark } from '../bytes/byte-order-mark.ts';
import { checkInlineImages } from '../images/inline.ts';

/**
 * Parses and validates a body, skipping a byte order mark. Only the contents of linked images
 * remain unchecked.
 */
export async function parseBody(body: Uint8Array): Promise<CompletionRequest | Refusal> {
  if (!isUtf8(body)) return NOT_UTF8;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  const validated = validateCompletionRequest(withoutByteOrderMark(text));
  if (isRefusal(validated)) return validated;
  const images = await checkInlineImages(validated.inlineImages);
  return isRefusal(images) ? images : validated.request;
}

const NOT_UTF8 = newRefusal({
  code: 'invalid_json',
  message: 'The body is not valid JSON: it is not valid UTF-8.',
});
