import { IMAGE_TYPES, type ImageType } from '@tidegate/contracts';
import { fileTypeFromBuffer } from 'file-type';

/** How many bytes are inspected to detect a type. Bounds the work that crafted bytes can cause. */
export const TYPE_SAMPLE_BYTES = 64 * 1024;

/**
 * Of PNG, JPEG, WebP and GIF. The library also finds an image behind a byte order mark or an ID3
 * tag, which no reader of images does.
 */
const FIRST_BYTES = new Set([0x89, 0xff, 0x52, 0x47]);

/**
 * The type of an image by its first bytes, whatever it claims to be. Null if it is not an accepted
 * type.
 */
export async function imageTypeOf(bytes: Uint8Array): Promise<ImageType | null> {
  if (!FIRST_BYTES.has(bytes[0] ?? 0)) return null;
  const found = await fileTypeFromBuffer(bytes.subarray(0, TYPE_SAMPLE_BYTES));
  // An animated PNG is a PNG with additions that every reader may skip.
  const type = found?.mime === 'image/apng' ? 'image/png' : found?.mime;
  return IMAGE_TYPES.find((known) => known === type) ?? null;
}
