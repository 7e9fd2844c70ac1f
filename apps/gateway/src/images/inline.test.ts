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
  checkInlineImages([{ path: PATH, declaredType, base64: Buffer.from(bytes).toString('base64') }]);

const messageOf = (checked: Passed | Refusal) => (isRefusal(checked) ? checked.message : checked);

const REAL: [ImageType, Buffer][] = [
  ['image/png', PNG],
  ['image/jpeg', JPEG],
  ['image/webp', WEBP],
  ['image/gif', GIF],
];

describe('checkInlineImages', () => {
  it.each(REAL)(
    'accepts %s as its real type and as no other [image.inline.real-type]',
    async (type, bytes) => {
      expect(await check(type, bytes)).toBe(PASSED);
      for (const [other] of REAL.filter(([name]) => name !== type)) {
        const refusal = await check(other, bytes);
        expect(refusal).toMatchObject({ code: 'invalid_request' });
        expect(messageOf(refusal)).toBe(
          `${PATH} is declared as ${other} but is ${type}: the declared type must be the real one.`,
        );
      }
    },
  );

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
    ['a GIF that ends within its screen descriptor', GIF.subarray(0, 12)],
    ['a GIF of another version', Buffer.concat([Buffer.from('GIF90a'), GIF.subarray(6)])],
    ['the first 3 bytes of a JPEG', bytes('/9j/')],
    ['a JPEG that ends within its first segment', JPEG.subarray(0, 19)],
    ['a JPEG that ends immediately', bytes('/9j/2f/Z')],
    ['a JPEG whose first segment has no room for its length', bytes('/9j/4AABAAAA')],
    ['the first 12 bytes of a WebP', WEBP.subarray(0, 12)],
    ['a WebP that ends within the head of its first chunk', WEBP.subarray(0, 19)],
    ['a WebP of an unknown chunk', Buffer.concat([WEBP.subarray(0, 12), Buffer.from('EXIF\0\0\0\0')])],
    ['the signature of a PNG', PNG.subarray(0, 8)],
    ['a PNG that ends within its header', PNG.subarray(0, 32)],
    ['zeros', Buffer.alloc(1_000)],
    ['one byte', Buffer.alloc(1)],
  ])('refuses %s whatever it is declared as [image.inline.others]', async (_, bytes) => {
    for (const [type] of REAL) {
      expect(messageOf(await check(type, bytes))).toBe(
        `${PATH} is declared as ${type} but is not a PNG, JPEG, WebP or GIF image.`,
      );
    }
  });

  it('accepts a JPEG whose first segment is as long as one can be, or comes after fill bytes', async () => {
    const longest = Buffer.concat([bytes('/9j/4v//'), Buffer.alloc(65_533), JPEG.subarray(2)]);
    expect(await check('image/jpeg', longest)).toBe(PASSED);
    const filled = Buffer.concat([JPEG.subarray(0, 2), Buffer.alloc(9, 0xff), JPEG.subarray(2)]);
    expect(await check('image/jpeg', filled)).toBe(PASSED);
  });

  it.each(['VP8L', 'VP8X'])('accepts a WebP that begins with %s', async (chunk) => {
    const webp = Buffer.from(WEBP);
    webp.write(chunk, 12);
    expect(await check('image/webp', webp)).toBe(PASSED);
  });

  it('accepts a GIF of the older version', async () => {
    const gif = Buffer.from(GIF);
    gif.write('GIF87a');
    expect(await check('image/gif', gif)).toBe(PASSED);
  });

  it('accepts an animated PNG as a PNG', async () => {
    expect(await check('image/png', animatedPng())).toBe(PASSED);
  });

  it('accepts a PNG whose colour profile is longer than the sample', async () => {
    const profile = Buffer.alloc(300_000);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(profile.length);
    const chunk = Buffer.concat([length, Buffer.from('iCCP'), profile, Buffer.alloc(4)]);
    expect(await check('image/png', Buffer.concat([PNG.subarray(0, 33), chunk, PNG.subarray(33)]))).toBe(
      PASSED,
    );
  });

  it('names the image that is wrong', async () => {
    const right = {
      path: 'messages[0].content[0].image_url.url',
      declaredType: 'image/png',
      base64: PNG.toString('base64'),
    } as const;
    const wrong = {
      ...right,
      path: 'messages[2].content[1].image_url.url',
      declaredType: 'image/gif',
    } as const;
    expect(messageOf(await checkInlineImages([right, wrong]))).toMatch(
      /^messages\[2\]\.content\[1\]\.image_url\.url /,
    );
    expect(await checkInlineImages([])).toBe(PASSED);
  });
});
