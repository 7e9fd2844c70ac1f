import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { controlOf, must, OPERATOR } from '../support/control.ts';
import { type Answer, call } from '../support/http.ts';
import { ask, newKey, newOrg, publish } from '../support/org.ts';
import { useSharedStack } from '../support/stack.ts';

const stack = useSharedStack();
let standin: Standin;
let org: string;
let key: string;

beforeAll(async () => {
  standin = await startStandin({ names: ['eyes', 'tide'], kind: 'vision', contextTokens: 8192 });
  org = await newOrg(stack(), { images: true });
  await publish(stack(), org, standin.url, { name: 'eyes', kind: 'vision', context: 8192 });
  await publish(stack(), org, standin.url, { name: 'tide', context: 8192 });
  key = (await newKey(stack(), org)).key;
  for (const model of ['eyes', 'tide']) {
    await eventually(async () => (await send(ask(model, 'Hi'))).status === 200);
  }
});
afterAll(() => standin?.close());

const send = (body: object, sentKey = key): Promise<Answer> =>
  call(stack().info.gateway, { key: sentKey, body });

const base64 = (name: string) =>
  readFileSync(new URL(`../fixtures/${name}`, import.meta.url)).toString('base64');
const dataUrl = (name: string, type: string) => `data:image/${type};base64,${base64(name)}`;
const PNG = dataUrl('harbour.png', 'png');
const part = (url: string, more: object = {}) => ({ type: 'image_url', image_url: { url, ...more } });
const withParts = (...content: object[]) => ({ model: 'eyes', messages: [{ role: 'user', content }] });

describe('an inline image is taken', () => {
  it.each([
    ['harbour.png', 'png', '[image.inline.png]'],
    ['harbour.jpg', 'jpeg', '[image.inline.jpeg]'],
    ['harbour.webp', 'webp', '[image.inline.webp]'],
    ['harbour.gif', 'gif', '[image.inline.gif]'],
  ])('%s declared as image/%s, and the model sees it %s [message.image-part]', async (name, type) => {
    const seen = standin.stats().images;
    const answer = await send(withParts(part(dataUrl(name, type)), { type: 'text', text: 'What is it?' }));
    expect([answer.status, standin.stats().images]).toEqual([200, seen + 1]);
    expect(JSON.stringify(answer.json).toLowerCase()).toContain(type);
  });

  it.each([
    ['in capitals', PNG.replace('data:image/png;base64', 'DATA:Image/PNG;BASE64')],
    ['with base64 in lines', PNG.replace(/.{76}/g, '$&\r\n')],
  ])('%s, and the model gets it as it should be [image.inline.base64]', async (_name, url) => {
    const seen = standin.stats().images;
    const answer = await send(withParts(part(url)));
    expect([answer.status, standin.stats().images]).toEqual([200, seen + 1]);
    const { usage } = (await send(withParts(part(PNG)))).json as { usage: object };
    expect(answer.json).toMatchObject({ usage });
  });

  it.each([
    ['with detail, which is ignored', part(PNG, { detail: 'high' })],
    ['with any detail', part(PNG, { detail: { so: 'what' } })],
    ['with detail null', part(PNG, { detail: null })],
  ])('%s [message.image-part.detail]', async (_name, image) => {
    expect((await send(withParts(image))).status).toBe(200);
  });

  it('and takes tokens of the context [image.tokens]', async () => {
    const { json } = await send(withParts(part(PNG)));
    const bare = await send(withParts({ type: 'text', text: 'x' }));
    const prompt = (answer: unknown) => (answer as { usage: { prompt_tokens: number } }).usage.prompt_tokens;
    expect(prompt(json)).toBeGreaterThan(prompt(bare.json) + 10);
  });
});

describe('an image is refused with 400 invalid_request:', () => {
  const GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
  it.each([
    ['a GIF declared as PNG [image.inline.real-type]', `data:image/png;base64,${GIF}`],
    ['a PNG declared as JPEG [image.inline.real-type]', PNG.replace('image/png', 'image/jpeg')],
    ['text declared as PNG', `data:image/png;base64,${Buffer.from('Hello').toString('base64')}`],
    ['an SVG [image.inline.others]', `data:image/svg+xml;base64,${Buffer.from('<svg/>').toString('base64')}`],
    ['a BMP [image.inline.others]', `data:image/bmp;base64,${Buffer.from('BM').toString('base64')}`],
    ['image/jpg, which is not a type', dataUrl('harbour.jpg', 'jpg')],
    ['no type', `data:;base64,${GIF}`],
    ['parameters', `data:image/gif;name=a;base64,${GIF}`],
    ['no base64 [image.inline.base64]', 'data:image/gif,GIF89a'],
    ['nothing after the comma', 'data:image/gif;base64,'],
    ['too little padding [image.inline.base64]', `data:image/gif;base64,${GIF}A`],
    ['a break other than a line break', `data:image/gif;base64,${GIF.slice(0, 8)}\f${GIF.slice(8)}`],
    ['base64 for URLs', `data:image/gif;base64,${GIF.slice(0, -4)}-_==`],
    ['http [image.link.scheme]', 'http://example.com/a.png'],
    ['upper case [image.link.scheme]', 'HTTPS://example.com/a.png'],
    ['ftp [image.link.scheme]', 'ftp://example.com/a.png'],
    ['file', 'file:///etc/passwd'],
    ['a path', '/a.png'],
    ['nothing', ''],
    ['a space before [image.link.spaces]', ' https://example.com/a.png'],
    ['a space inside [image.link.spaces]', 'https://example.com/a b.png'],
    ['a space after [image.link.spaces]', 'https://example.com/a.png '],
    [
      '2,049 characters [image.link.length] [limit.image-link]',
      `https://example.com/${'a'.repeat(2049 - 20)}`,
    ],
    ['no host', 'https://'],
    ['an impossible port', 'https://example.com:99999/a.png'],
    ['a password', 'https://me:secret@example.com/a.png'],
    ['this machine [image.link.reachable]', 'https://127.0.0.1/a.png'],
    ['this machine by name', 'https://localhost/a.png'],
    ['this machine as one number', 'https://2130706433/a.png'],
    ['this machine in hexadecimal', 'https://0x7f.1/a.png'],
    ['this machine in IPv6', 'https://[::1]/a.png'],
    ['this machine mapped to IPv6', 'https://[::ffff:127.0.0.1]/a.png'],
    ['any address', 'https://0.0.0.0/a.png'],
    ['a private network [image.link.reachable]', 'https://10.0.0.1/a.png'],
    ['the metadata of a cloud', 'https://169.254.169.254/latest/meta-data/'],
    ['a name without an address [image.link.reachable]', 'https://nowhere.invalid/a.png'],
  ])('%s', async (_name, url) => {
    const calls = standin.stats().calls;
    const answer = await send(withParts({ type: 'text', text: 'Look' }, part(url)));
    expect([answer.status, answer.code]).toEqual([400, 'invalid_request']);
    expect(answer.message).toContain('messages[0].content[1].image_url.url');
    if (url.startsWith('data:image/gif')) expect(answer.message).not.toContain('R0lGOD');
    if (url.length > 60) expect(answer.message).not.toContain(url);
    expect(standin.stats().calls).toBe(calls);
  });

  it('the fifth, counted across all messages [image.count] [limit.images]', async () => {
    const turn = (count: number) => ({ role: 'user', content: Array(count).fill(part(PNG)) });
    const four = { model: 'eyes', messages: [turn(3), { role: 'assistant', content: 'Nice' }, turn(1)] };
    expect((await send(four)).status).toBe(200);
    const five = await send({ ...four, messages: [...four.messages, turn(1)] });
    expect([five.status, five.code]).toEqual([400, 'invalid_request']);
    expect(five.message).toContain('4 images');
  });
});

it('an image that does not fit the context is refused by the model, in its words [message.context]', async () => {
  const words = { type: 'text', text: 'Look closely.' };
  const { json } = await send(withParts(words));
  const { prompt_tokens: prompt } = (json as { usage: { prompt_tokens: number } }).usage;
  const rest = { max_tokens: 8192 - prompt };
  expect((await send({ ...withParts(words), ...rest })).status).toBe(200);
  const answer = await send({ ...withParts(words, part(PNG)), ...rest });
  expect([answer.status, answer.code]).toEqual([400, 'model_refused']);
  expect(answer.message).toMatch(/context/);
});

describe('the kind of the model and the plan', () => {
  it('refuse images to a text model with 400 model_text_only [errors.model_text_only] [message.image-part.vision-only]', async () => {
    const answer = await send({ ...withParts(part(PNG)), model: 'tide' });
    expect(answer).toMatchObject({ status: 400, code: 'model_text_only' });
    expect(answer.json).toMatchObject({ error: { type: 'invalid_request_error' } });
  });

  it.each(['Free', 'Starter'])(
    '%s, as it ships, refuses images but not text to the same model; Pro takes them immediately [auth.images.plan] [auth.images.pro] [auth.images.text] [errors.plan_upgrade_required]',
    async (plan) => {
      const { slug } = must(await controlOf(stack()).createOrg(OPERATOR, { name: `On ${plan}`, plan }));
      const [, planKey] = await Promise.all([
        publish(stack(), slug, standin.url, { name: 'eyes', kind: 'vision', context: 2048 }),
        newKey(stack(), slug, { rpm: 60, atOnce: 2 }),
      ]);
      await eventually(async () => (await send(ask('eyes', 'Hi'), planKey.key)).status === 200);
      const answer = await send(withParts(part(PNG)), planKey.key);
      expect(answer.status).toBe(403);
      expect(answer.json).toEqual({
        error: { message: expect.any(String), type: 'permission_error', code: 'plan_upgrade_required' },
      });
      must(await controlOf(stack()).setOrgPlan(OPERATOR, { org: slug, plan: 'Pro' }));
      expect((await send(withParts(part(PNG)), planKey.key)).status).toBe(200);
    },
  );
});
