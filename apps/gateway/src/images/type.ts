import { IMAGE_TYPES, type ImageType } from '@tidegate/contracts';
import { fileTypeFromBuffer } from 'file-type';

/** Looked at to tell a type; bounds the work that crafted bytes can cause. */
export const TYPE_SAMPLE_BYTES = 64 * 1024;

/** What an image is by its first bytes, whatever it claims to be; null: none of the types taken. */
export async function imageTypeOf(bytes: Uint8Array): Promise<ImageType | null> {
  const found = await fileTypeFromBuffer(bytes.subarray(0, TYPE_SAMPLE_BYTES));
  // An animated PNG is a PNG with additions that every reader may skip.
  const type = found?.mime === 'image/apng' ? 'image/png' : found?.mime;
  return IMAGE_TYPES.find((known) => known === type) ?? null;
}
