import { IMAGE_TYPES, type ImageType } from '@tidegate/contracts';
import { fileTypeFromBuffer } from 'file-type';

/**
 * How many bytes are inspected to detect a type. Bounds the work that crafted bytes can cause. It
 * is more than the first segment of any JPEG.
 */
export const TYPE_SAMPLE_BYTES = 66 * 1024;

/**
 * Those of PNG, JPEG, WebP and GIF. The library also finds an image behind a byte order mark or an
 * ID3 tag, which no reader of images does.
 */
const FIRST_BYTES = new Set([0x89, 0xff, 0x52, 0x47]);

/**
 * The type of an image by its first bytes, whatever it claims to be. Null if it is not an accepted
 * type, or if it ends within its header: a model would refuse it, and that would be charged.
 */
export async function imageTypeOf(bytes: Uint8Array): Promise<ImageType | null> {
  if (!FIRST_BYTES.has(bytes[0] ?? 0)) return null;
  const sample = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, TYPE_SAMPLE_BYTES));
  const found = await fileTypeFromBuffer(sample);
  // An animated PNG is a PNG with additions that every reader may skip.
  const mime = found?.mime === 'image/apng' ? 'image/png' : found?.mime;
  const type = IMAGE_TYPES.find((known) => known === mime);
  return type && hasHeader[type](sample) ? type : null;
}

/** Whether the header that every image of the type begins with is complete. */
const hasHeader: Readonly<Record<ImageType, (bytes: Buffer) => boolean>> = {
  // The signature, then a chunk of 13 bytes with its length, name and checksum.
  'image/png': (bytes) =>
    bytes.length >= 33 && bytes.readUInt32BE(8) === 13 && bytes.toString('latin1', 12, 16) === 'IHDR',
  'image/jpeg': hasSegment,
  // The container's header, then that of its first chunk.
  'image/webp': (bytes) => bytes.length >= 20 && /^VP8[ LX]$/.test(bytes.toString('latin1', 12, 16)),
  // The version, then the screen descriptor.
  'image/gif': (bytes) => bytes.length >= 13 && /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)),
};

/** Whether a JPEG's first segment is complete. */
function hasSegment(bytes: Buffer): boolean {
  let at = 2;
  // A marker may have any number of fill bytes before it.
  while (bytes[at] === 0xff && bytes[at + 1] === 0xff) at++;
  const [before, marker = 0] = bytes.subarray(at);
  // Markers below 0xc0, and from 0xd0 to 0xd9, have no segment.
  if (before !== 0xff || marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd9)) return false;
  if (bytes.length < at + 4) return false;
  const length = bytes.readUInt16BE(at + 2);
  return length >= 2 && bytes.length >= at + 2 + length;
}
