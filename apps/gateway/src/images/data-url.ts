import { setImmediate } from 'node:timers/promises';
import type { ImageType } from '@tidegate/contracts';

/** A multiple of 3, so that pieces of base64 fit together; encoded in well under a millisecond. */
const PIECE_BYTES = 3 * 128 * 1024;

/** The image as a JSON string (quotes included) that holds its data URL. Lets the loop turn between pieces. */
export async function toDataUrlJson(image: Buffer, type: ImageType): Promise<Buffer> {
  const head = `"data:${type};base64,`;
  const json = Buffer.allocUnsafeSlow(head.length + Math.ceil(image.length / 3) * 4 + 1);
  let at = json.write(head, 'latin1');
  for (let from = 0; from < image.length; from += PIECE_BYTES) {
    if (from > 0) await setImmediate();
    at += json.write(
      image.toString('base64', from, Math.min(from + PIECE_BYTES, image.length)),
      at,
      'latin1',
    );
  }
  json.write('"', at, 'latin1');
  return json;
}
