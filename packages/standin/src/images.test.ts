import { describe, expect, it } from '@jest/globals';
import { seeImage } from './images.ts';
import { startStandin } from './server.ts';
import { imageTokens } from './tokens.ts';

/** The first bytes of a real file. They contain its type and size. */
function png(width: number, height: number): Buffer {
  const head = Buffer.alloc(33);
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').copy(head);
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  head.set([8, 6], 24);
  return head;
}
function jpeg(width: number, height: number): Buffer {
  const frame = Buffer.from('ffc0001108000000000301220002110103110100', 'hex');
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([
    Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex'),
    frame,
    Buffer.from('ffd9', 'hex'),
  ]);
}
function gif(width: number, height: number): Buffer {
  const head = Buffer.from('474946383961000000000000003b', 'hex');
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  return head;
}
function webp(width: number, height: number): Buffer {
  const head = Buffer.from('524946461e0000005745425056503858000000000a000000000000000000000000000000', 'hex');
  head.writeUInt8(10, 16);
  head.writeUInt32LE(0, 20);
  head.writeUIntLE(width - 1, 24, 3);
  head.writeUIntLE(height - 1, 27, 3);
  return head;
}
const dataUrl = (bytes: Buffer, type = 'image/png'): string =>
  `data:${type};base64,${bytes.toString('base64')}`;
const imagePart = (url: string) => ({ type: 'image_url', image_url: { url } });

describe('an image', () => {
  it.each([
    ['PNG', png(640, 480)],
    ['JPEG', jpeg(640, 480)],
    ['GIF', gif(640, 480)],
    ['WebP', webp(640, 480)],
  ])('is seen as the %s that its bytes are, whatever was declared', (type, bytes) => {
    expect(seeImage(dataUrl(bytes, 'image/tiff'))).toEqual({ type, widthPx: 640, heightPx: 480 });
  });

  it.each([
    'https://example.com/a.png',
    'data:image/png;base64,',
    dataUrl(Buffer.from('not an image at all, but text')),
    dataUrl(Buffer.from('<svg width="1" height="1"/>')),
    `data:image/png,${png(1, 1).toString('base64')}`,
  ])('is not seen in %s', (url) => {
    expect(seeImage(url)).toBeNull();
  });

  it('costs tokens by its size, up to a bound', () => {
    expect(imageTokens(28, 28)).toBe(3);
    expect(imageTokens(29, 28)).toBe(4);
    expect(imageTokens(100_000, 100_000)).toBe(1_280);
  });
});

describe('a vision stand-in', () => {
  it('says what it saw and counts it, while a text stand-in refuses it', async () => {
    const vision = await startStandin({ kind: 'vision' });
    const text = await startStandin({ kind: 'text' });
    const ask = (url: string, parts: object[]) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({
          model: 'standin',
          messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, ...parts] }],
        }),
      });
    const images = [imagePart(dataUrl(png(64, 32))), imagePart(dataUrl(jpeg(300, 200)))];
    const plain = (await (await ask(vision.url, [])).json()) as { usage: { prompt_tokens: number } };
    const seen = await (await ask(vision.url, images)).json();
    expect(seen).toMatchObject({
      choices: [
        {
          message: {
            content: expect.stringContaining(
              'a PNG image of 64x32 pixels and a JPEG image of 300x200 pixels',
            ),
          },
        },
      ],
      usage: { prompt_tokens: plain.usage.prompt_tokens + imageTokens(64, 32) + imageTokens(300, 200) },
    });
    expect(vision.stats().images).toBe(2);
    expect((await ask(text.url, images)).status).toBe(400);
    expect((await ask(vision.url, [imagePart('https://example.com/a.png')])).status).toBe(400);
    await Promise.all([vision.close(), text.close()]);
  });
});
