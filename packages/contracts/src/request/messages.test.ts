import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isRefusal } from '../errors.ts';
import { type CompletionRequest, validateCompletionRequest } from './completion-request.ts';

const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const LINK = 'https://images.example/cat.png';
const U = 'messages[0].content[0].image_url.url';

const image = (url: unknown, more: object = {}) => ({ type: 'image_url', image_url: { url, ...more } });
const user = (...content: unknown[]) => ({ role: 'user', content });

const validate = (messages: unknown) => validateCompletionRequest(JSON.stringify({ model: 'm', messages }));

function accepted(messages: unknown) {
  const result = validate(messages);
  if (isRefusal(result)) throw new Error(`refused: ${result.message}`);
  return result;
}

function refusal(messages: unknown): string {
  const result = validate(messages);
  if (!isRefusal(result)) throw new Error('accepted');
  expect(result.code).toBe('invalid_request');
  return result.message;
}

/** The messages as an upstream reads them. `[index]` stands for each linked image's URL. */
function written(request: CompletionRequest): unknown {
  const pieces = request.messages.map((segment) =>
    'image' in segment ? JSON.stringify(`[${segment.image}]`) : Buffer.from(segment).toString('utf8'),
  );
  return JSON.parse(pieces.join(''));
}

describe('messages', () => {
  it('takes 1 to 101 messages [limit.messages] [request.messages.most]', () => {
    const message = { role: 'user', content: 'x' };
    expect(written(accepted([message]))).toEqual([message]);
    expect(written(accepted(Array(101).fill(message)))).toHaveLength(101);
    for (const bad of [[], Array(102).fill(message), {}, 'hi', 1, true]) {
      expect(refusal(bad)).toContain('messages must be an array of 1 to 101 messages');
    }
  });

  it.each<[string, unknown, string[]]>([
    ['a message that is not an object', ['hi'], ['messages[0] must be an object with role and content']],
    ['a null message', [null], ['messages[0] must be an object']],
    ['an array as a message', [[]], ['messages[0] must be an object']],
    [
      'a name',
      [{ role: 'user', content: 'x', name: 'bob' }],
      ['messages[0].name is not allowed', 'role and content'],
    ],
    [
      'tool calls',
      [{ role: 'assistant', content: 'x', tool_calls: [] }],
      ['messages[0].tool_calls is not allowed'],
    ],
    [
      'a strange member [message.fields]',
      [{ role: 'user', content: 'x', 'a "b"': 1 }],
      ['messages[0]."a \\"b\\"" is not allowed'],
    ],
    ['no role', [{ content: 'x' }], ['messages[0].role is required', 'system, user or assistant']],
    ['a null role', [{ role: null, content: 'x' }], ['messages[0].role is required']],
    [
      'the role tool',
      [{ role: 'tool', content: 'x' }],
      ['messages[0].role must be system, user or assistant'],
    ],
    ['the role developer', [{ role: 'developer', content: 'x' }], ['messages[0].role must be']],
    ['a role in capitals', [{ role: 'User', content: 'x' }], ['messages[0].role must be']],
    ['a role that is not a string', [{ role: ['user'], content: 'x' }], ['messages[0].role must be']],
    [
      'no content',
      [{ role: 'user' }],
      ['messages[0].content is required', 'a string or an array of one or more content parts'],
    ],
    ['null content', [{ role: 'assistant', content: null }], ['messages[0].content is required']],
    ['numeric content', [{ role: 'user', content: 1 }], ['messages[0].content must be a string or an array']],
    ['content that is an object', [{ role: 'user', content: {} }], ['messages[0].content must be']],
    ['no content parts', [user()], ['messages[0].content must be a string or an array of one or more']],
    ['a part that is a string', [user('x')], ['messages[0].content[0] must be an object']],
    [
      'a part without a type',
      [user({ text: 'x' })],
      ['messages[0].content[0].type is required', 'text or image_url'],
    ],
    [
      'an unknown part',
      [user({ type: 'input_audio', input_audio: {} })],
      ['messages[0].content[0].type must be text or image_url'],
    ],
    ['a text part without text', [user({ type: 'text' })], ['messages[0].content[0].text is required']],
    [
      'a text that is not a string',
      [user({ type: 'text', text: 1 })],
      ['messages[0].content[0].text must be a string'],
    ],
    [
      'a text part with another member',
      [user({ type: 'text', text: '', cache_control: {} })],
      ['messages[0].content[0].cache_control is not allowed'],
    ],
    [
      'an image part with another member',
      [user({ ...image(LINK), text: 'x' })],
      ['messages[0].content[0].text is not allowed'],
    ],
    [
      'an image without image_url',
      [user({ type: 'image_url' })],
      ['messages[0].content[0].image_url is required'],
    ],
    [
      'an image_url that is a string [message.image-part]',
      [user({ type: 'image_url', image_url: LINK })],
      ['messages[0].content[0].image_url must be an object'],
    ],
    [
      'an image_url with another member',
      [user(image(LINK, { format: 'png' }))],
      ['messages[0].content[0].image_url.format is not allowed'],
    ],
    ['an image without a url', [user({ type: 'image_url', image_url: {} })], [`${U} is required`]],
    ['a url that is not a string [message.image-part]', [user(image(7))], [`${U} must be a string`]],
    [
      'an image in a system message [message.image-part.user-only]',
      [{ role: 'system', content: [image(LINK)] }],
      ['messages[0].content[0]', 'user messages only'],
    ],
    [
      'an image in an assistant message [message.image-part.user-only]',
      [{ role: 'assistant', content: [image(PNG)] }],
      ['messages[0].content[0]', 'user messages only'],
    ],
    [
      "the third message's second part",
      [user(image(LINK)), user(image(LINK)), user({ type: 'text', text: 'x' }, image('ftp://x'))],
      ['messages[2].content[1].image_url.url must'],
    ],
  ])('refuses %s, naming the place and what is allowed', (_, messages, parts) => {
    const message = refusal(messages);
    for (const part of parts) expect(message).toContain(part);
  });

  it('takes every role, empty texts and text parts in any message', () => {
    const all = ['system', 'user', 'assistant'].flatMap((role) => [
      { role, content: '' },
      {
        role,
        content: [
          { type: 'text', text: '' },
          { type: 'text', text: 'b' },
        ],
      },
    ]);
    expect(written(accepted(all))).toEqual(all);
  });

  it.each(['auto', 'low', null, 7, { a: 1 }])('ignores detail %j [message.image-part.detail]', (detail) => {
    expect(written(accepted([user(image(PNG, { detail }))]))).toEqual([user(image(PNG))]);
  });

  it('takes no member of a message from a prototype', () => {
    const text = '{"model":"m","messages":[{"__proto__":{"role":"user","content":"x"}}]}';
    expect(validateCompletionRequest(text)).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('messages[0].__proto__ is not allowed'),
    });
  });

  it('takes 4 images in all and refuses the fifth', () => {
    const four = [user(image(LINK), image(PNG)), user(image(PNG), image(LINK))];
    expect(accepted(four)).toMatchObject({
      imageCount: 4,
      linkedImages: [{ index: 0 }, { index: 1 }],
    });
    const message = refusal([
      ...four,
      { role: 'assistant', content: 'x' },
      user({ type: 'text', text: 'x' }, image(LINK)),
    ]);
    expect(message).toContain('messages[3].content[1].image_url.url');
    expect(message).toContain('at most 4 images');
  });

  it.each<[string, string]>([
    ['http://images.example/cat.png', 'must start with https://'],
    ['HTTPS://images.example/cat.png', 'must start with https://'],
    [' https://images.example/cat.png', 'must start with https://'],
    ['//images.example/cat.png', 'must start with https://'],
    ['ftp://images.example/cat.png', 'must start with https://'],
    ['file:///etc/passwd', 'must start with https://'],
    ['javascript:alert(1)', 'must start with https://'],
    ['', 'must start with https://'],
    ['https://', 'must be a valid URL'],
    ['https://a.example:99999/', 'must be a valid URL'],
    ['https://[::1/', 'must be a valid URL'],
    ['https://exa mple.com/', 'must not contain spaces or control characters'],
    ['https://images.example/a b.png', 'must not contain spaces or control characters'],
    ['https://images.example/a.png ', 'must not contain spaces or control characters'],
    ['https://images.example/a\u00a0b.png', 'must not contain spaces or control characters'],
    ['https://images.example/a\n.png', 'must not contain spaces or control characters'],
    ['https://images.example/a\u0000.png', 'must not contain spaces or control characters'],
    ['https://images.example/a\u007f.png', 'must not contain spaces or control characters'],
    ['https://bob:secret@images.example/', 'must not contain a user name or password'],
    ['https://bob@images.example/', 'must not contain a user name or password'],
    ['https://:secret@images.example/', 'must not contain a user name or password'],
    [`https://images.example/${'a'.repeat(2_026)}`, 'at most 2048 characters'],
    ['data:image/svg+xml;base64,PHN2Zy8+', 'declares the type image/svg+xml: a data URL must declare one of'],
    [
      'data:image/jpg;base64,AAAA',
      'declares the type image/jpg: a data URL must declare one of image/png, image/jpeg',
    ],
    ['DATA:Text/HTML;BASE64,AAAA', 'declares the type text/html'],
    ['data:;base64,AAAA', 'declares another type'],
    [`data:image/${'a'.repeat(33)};base64,AAAA`, 'declares another type'],
    ['data:image/png ;base64,AAAA', 'declares another type'],
    ['data:image/png,AAAA', 'the form data:<type>;base64,<data>'],
    ['data:image/png;charset=utf-8;base64,AAAA', 'the form data:<type>;base64,<data>'],
    ['data:image/png;base64;AAAA', 'the form data:<type>;base64,<data>'],
    ['data:image/png;base64,', 'has no data after the comma'],
    ['data:image/png;base64,\r\n ', 'has no data after the comma'],
    ['data:image/png;base64,AAA', 'valid base64'],
    ['data:image/png;base64,AAAAA', 'valid base64'],
    ['data:image/png;base64,AA=A', 'valid base64'],
    ['data:image/png;base64,AA==AAAA', 'valid base64'],
    ['data:image/png;base64,AB==', 'valid base64'],
    ['data:image/png;base64,AAB=', 'valid base64'],
    ['data:image/png;base64,====', 'valid base64'],
    ['data:image/png;base64,AA-_', 'valid base64'],
    ['data:image/png;base64,AAA%', 'valid base64'],
    ['data:image/png;base64,AAA\u0141', 'valid base64'],
    ['data:image/png;base64,AAA\n', 'valid base64'],
    ['data:image/png;base64,AA\fAA', 'valid base64'],
    ['data:image/png;base64,AA\u00a0AA', 'valid base64'],
  ])('refuses the image URL %j, naming the field and the reason but never the URL', (url, reason) => {
    const message = refusal([user(image(url))]);
    expect(message).toContain(U);
    expect(message).toContain(reason);
    for (const secret of ['images.example', 'secret', 'passwd', 'alert', 'PHN2'])
      expect(message).not.toContain(secret);
  });

  it.each([
    LINK,
    'https://images.example:8443/cat.png?a=b#c',
    'https://пример.example/кот.png',
    'https://0x7f.1/',
  ])('takes the link %s for the fetcher to check further', (url) => {
    expect(accepted([user(image(url))]).linkedImages).toEqual([{ url, index: 0, path: U }]);
  });

  it('takes a link of 2,048 characters [image.link.length]', () => {
    const url = `https://images.example/${'a'.repeat(2_025)}`;
    expect(accepted([user(image(url))]).linkedImages).toEqual([{ url, index: 0, path: U }]);
  });

  it.each(['png', 'jpeg', 'webp', 'gif'])(
    'returns how an inline %s image begins, so that its type can be checked',
    (type) => {
      for (const base64 of ['AAAA', 'AAA=', 'AA==', 'ab+/', 'QUJDREVGQUJDREVG', 'QUJDREVGQUJDREVGAAAA']) {
        const request = accepted([user(image(`data:image/${type};base64,${base64}`))]);
        const inlineImages = [{ path: U, declaredType: `image/${type}`, begin: base64.slice(0, 16) }];
        expect(request).toMatchObject({ imageCount: 1, linkedImages: [], inlineImages });
      }
    },
  );

  it.each([
    ['in capitals', 'DATA:Image/PNG;BASE64,QUJDREVG'],
    ['with lines of base64', 'data:image/png;base64,\r\nQUJD\r\nREVG\r\n'],
    ['with white space anywhere in base64', 'data:image/png;base64, Q U\tJ\nDREV\rG '],
  ])('takes a data URL %s, and gives it to the model in its plainest form', (_name, url) => {
    const request = accepted([user(image(url))]);
    expect(request.inlineImages).toEqual([{ path: U, declaredType: 'image/png', begin: 'QUJDREVG' }]);
    expect(written(request)).toEqual([user(image('data:image/png;base64,QUJDREVG'))]);
  });

  it('agrees with the decoder on base64 of any bytes [image.inline.base64]', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (bytes) => {
        const base64 = Buffer.from(bytes).toString('base64');
        const sent = [user(image(`data:image/png;base64,${base64}`))];
        expect(written(accepted(sent))).toEqual(sent);
      }),
    );
  });

  it('checks 20 MiB of base64 and finds one wrong character in it', () => {
    const base64 = 'A'.repeat(20 * 2 ** 20);
    const sizeOf = (data: string) =>
      accepted([user(image(`data:image/png;base64,${data}`))])
        .messages.map((segment) => ('image' in segment ? 0 : segment.length))
        .reduce((sum, bytes) => sum + bytes);
    expect(sizeOf(base64) - sizeOf('AAAA')).toBe(base64.length - 4);
    expect(refusal([user(image(`data:image/png;base64,${base64.slice(2)}!A`))]).length).toBeLessThan(200);
    expect(sizeOf('A\n'.repeat(2 ** 20)) - sizeOf('AAAA')).toBe(2 ** 20 - 4);
  });

  it('turns half surrogate pairs into U+FFFD and keeps whole ones', () => {
    const text =
      '{"model":"m","messages":[{"role":"user","content":"a\\ud800b\\udc00\\ud83d\\ude00\\\\ud800"}]}';
    const result = validateCompletionRequest(text);
    expect(!isRefusal(result) && written(result)).toEqual([
      { role: 'user', content: 'a\ufffdb\ufffd😀\\ud800' },
    ]);
  });

  it('writes just what was sent, cut at the linked images, whatever the texts hold', () => {
    const text = fc.string({ unit: 'binary' }).map((value) => value.replace(/\p{Surrogate}/gu, ''));
    const textPart = text.map((value) => ({ type: 'text', text: value }));
    const message = fc.oneof(
      fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: text }),
      fc.record({ role: fc.constant('user'), content: fc.array(textPart, { minLength: 1 }) }),
    );
    // Not `fc.webUrl`, which first puts all 1.1 million characters into a map.
    const link = text.map((path) => user(image(`${LINK}?${encodeURIComponent(path)}`)));
    const messages = fc
      .tuple(fc.array(message, { minLength: 1, maxLength: 8 }), fc.array(link, { maxLength: 4 }), fc.nat())
      .map(([all, links, at]) => [...all.slice(0, at % all.length), ...links, ...all.slice(at % all.length)]);
    fc.assert(
      fc.property(messages, (sent) => {
        let index = 0;
        const expected = structuredClone(sent) as { content: string | ReturnType<typeof image>[] }[];
        const urls: string[] = [];
        for (const { content } of expected) {
          if (typeof content === 'string') continue;
          for (const part of content) {
            if (!('image_url' in part)) continue;
            urls.push(part.image_url.url as string);
            part.image_url.url = `[${index++}]`;
          }
        }
        const request = accepted(sent);
        expect(written(request)).toEqual(expected);
        expect(request.linkedImages.map(({ url }) => url)).toEqual(urls);
      }),
      { numRuns: 200 },
    );
  });
});
