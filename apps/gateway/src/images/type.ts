import type { ImageType } from '@tidegate/contracts';

/** How a file of each type begins, in hexadecimal. Dots stand for any digits. */
const BEGINNINGS: readonly (readonly [ImageType, RegExp])[] = [
  ['image/png', /^89504e470d0a1a0a/],
  ['image/jpeg', /^ffd8ff/],
  // GIF87a, GIF89a
  ['image/gif', /^47494638(37|39)61/],
  // RIFF, the size, WEBP
  ['image/webp', /^52494646.{8}57454250/],
];
const LONGEST_BYTES = 12;

/** The type of an image by its first bytes, whatever it claims to be. Null: no accepted one. */
export function imageTypeOf(bytes: Uint8Array): ImageType | null {
  const begin = Buffer.from(bytes.subarray(0, LONGEST_BYTES)).toString('hex');
  return BEGINNINGS.find(([, beginning]) => beginning.test(begin))?.[0] ?? null;
}
