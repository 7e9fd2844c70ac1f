import { describe, expect, it } from '@jest/globals';
import { type ImageType, isRefusal, PASSED, type Passed, type Refusal } from '@tidegate/contracts';
import { checkInlineImages } from './inline.ts';

/** Decodes base64, such as the smallest complete image of a type, with one pixel. */
const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');

const PNG = bytes(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
);
const GIF = bytes('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7');
const WEBP = bytes('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA');
const JPEG = Buffer.concat([
  Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10]),
  Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1'),
  Buffer.from([0xff, 0xd9]),
]);

/** The PNG with an animation control chunk before its image data. */
function animatedPng(): Buffer {
  const control = Buffer.concat([Buffer.from([0, 0, 0, 8]), Buffer.from('acTL'), Buffer.alloc(12)]);
  const header = 8 + 25;
  return Buffer.concat([PNG.subarray(0, header), control, PNG.subarray(header)]);
}

const PATH = 'messages[0].content[0].image_url.url';

const check = (declaredType: ImageType, bytes: Uint8Array) =>
  checkInlineImages([
    { path: PATH, declaredType, begin: Buffer.from(bytes).toString('base64').slice(0, 16) },
  ]);

const messageOf = (checked: Passed | Refusal) => (isRefusal(checked) ? checked.message : checked);

const REAL: [ImageType, Buffer][] = [
  ['image/png', PNG],
  ['image/jpeg', JPEG],
  ['image/webp', WEBP],
  ['image/gif', GIF],
];

describe('checkInlineImages', () => {
  it.each(REAL)('accepts %s as its real type and as no other [image.inline.real-type]', (type, bytes) => {
    expect(check(type, bytes)).toBe(PASSED);
    for (const [other] of REAL.filter(([name]) => name !== type)) {
      const refusal = check(other, bytes);
      expect(refusal).toMatchObject({ code: 'invalid_request' });
      expect(messageOf(refusal)).toBe(
        `${PATH} is declared as ${other} but is ${type}: the declared type must be the real one.`,
      );
    }
  });

  it.each<[string, Buffer]>([
    ['an SVG', Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['HTML', Buffer.from('<!doctype html><script>alert(1)</script>')],
    ['a PDF', Buffer.from('%PDF-1.7\n')],
    ['a BMP', Buffer.from('BM6\0\0\0\0\0\0\0')],
    ['a TIFF', Buffer.from('II*\0\x08\0\0\0')],
    ['a sound in a RIFF', Buffer.from('RIFF\x24\0\0\0WAVEfmt ')],
    ['a PNG behind a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), PNG])],
    ['a PNG behind an ID3 tag', Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1'), PNG])],
    ['text', Buffer.from('PNG')],
    ['the first 3 bytes of a GIF', bytes('R0lG')],
    ['a GIF of another version', Buffer.concat([Buffer.from('GIF90a'), GIF.subarray(6)])],
    ['the first 2 bytes of a JPEG', JPEG.subarray(0, 2)],
    ['the first 11 bytes of a WebP', WEBP.subarray(0, 11)],
    ['the first 7 bytes of a PNG', PNG.subarray(0, 7)],
    ['zeros', Buffer.alloc(1_000)],
    ['one byte', Buffer.alloc(1)],
  ])('refuses %s whatever it is declared as [image.inline.others]', (_, bytes) => {
    for (const [type] of REAL) {
      expect(messageOf(check(type, bytes))).toBe(
        `${PATH} is declared as ${type} but is not a PNG, JPEG, WebP or GIF image.`,
      );
    }
  });

  it.each(REAL)('accepts a file that begins like %s, whatever follows', (type, bytes) => {
    expect(check(type, Buffer.concat([bytes.subarray(0, 12), Buffer.alloc(100)]))).toBe(PASSED);
  });

  it('accepts a GIF of the older version', () => {
    const gif = Buffer.from(GIF);
    gif.write('GIF87a');
    expect(check('image/gif', gif)).toBe(PASSED);
  });

  it('accepts an animated PNG as a PNG', () => {
    expect(check('image/png', animatedPng())).toBe(PASSED);
  });

  it('names the image that is wrong', () => {
    const right = {
      path: 'messages[0].content[0].image_url.url',
      declaredType: 'image/png',
      begin: PNG.toString('base64').slice(0, 16),
    } as const;
    const wrong = {
      ...right,
      path: 'messages[2].content[1].image_url.url',
      declaredType: 'image/gif',
    } as const;
    expect(messageOf(checkInlineImages([right, wrong]))).toMatch(
      /^messages\[2\]\.content\[1\]\.image_url\.url /,
    );
    expect(checkInlineImages([])).toBe(PASSED);
  });
});
