import { setImmediate } from 'node:timers/promises';
import type { ImageType } from '@tidegate/contracts';

/**
 * A multiple of 3, so that pieces of base64 fit together. Encoding one takes well under a
 * millisecond.
 */
const PIECE_BYTES = 3 * 128 * 1024;

/** The size of what `toDataUrlJson` returns. */
export const dataUrlJsonBytes = (imageBytes: number, type: ImageType): number =>
  headOf(type).length + Math.ceil(imageBytes / 3) * 4 + 1;

/**
 * Returns the image's data URL as a JSON string, quotes included. Yields to the event loop between
 * pieces.
 */
export async function toDataUrlJson(image: Buffer, type: ImageType): Promise<Buffer> {
  const json = Buffer.allocUnsafeSlow(dataUrlJsonBytes(image.length, type));
  let at = json.write(headOf(type), 'latin1');
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

const headOf = (type: ImageType): string => `"data:${type};base64,`;
