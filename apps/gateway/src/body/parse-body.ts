import { isUtf8 } from 'node:buffer';
import {
  type CompletionRequest,
  newRefusal,
  type Refusal,
  validateCompletionRequest,
} from '@tidegate/contracts';
import { withoutByteOrderMark } from '../bytes/byte-order-mark.ts';

/** Parses and validates a body, skipping a byte order mark. It leaves the bytes of images alone. */
export function parseBody(body: Uint8Array): CompletionRequest | Refusal {
  if (!isUtf8(body)) return NOT_UTF8;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  return validateCompletionRequest(withoutByteOrderMark(text));
}

const NOT_UTF8 = newRefusal({
  code: 'invalid_json',
  message: 'The body is not valid JSON: it is not valid UTF-8.',
});
