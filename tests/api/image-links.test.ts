import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, startUpstream, type Upstream } from '@tidegate/testing';
import { controlOf, must, OPERATOR } from '../support/control.ts';
import { type Answer, call } from '../support/http.ts';
import { AUTHORITY, type Handler, startImageServer } from '../support/image-server.ts';
import { startNameServer } from '../support/name-server.ts';
import { ask, newKey, newOrg, publish } from '../support/org.ts';
import { usageOf, useSharedStack } from '../support/stack.ts';

/*
 * Tests linked images end to end. Names come from the test's name server, and images from its https
 * server. Besides the internet, 127.0.0.2 is the only address that the gateway may reach. The
 * server listens on all addresses and reports which of them it was reached at.
 */
const OUTSIDE = '127.0.0.2';
/** Ample on a busy machine. */
const TIMEOUT_MS = 60_000;
const SHORT_TIMEOUT_MS = 2_000;
const MAX_BYTES = 20_000_000;
const CONTEXT = 8_192;

const PRIVATE: Readonly<Record<string, readonly string[]>> = {
  'loopback.test': ['127.0.0.1'],
  'loopback6.test': ['::1'],
  'private.test': ['10.0.0.1'],
  'private172.test': ['172.16.0.1'],
  'private192.test': ['192.168.0.1'],
  'shared.test': ['100.64.0.1'],
  'unique-local.test': ['fd00::1'],
  'link-local.test': ['169.254.169.254'],
  'link-local6.test': ['fe80::1'],
  'multicast.test': ['224.0.0.1'],
  'multicast6.test': ['ff02::1'],
  'unspecified.test': ['0.0.0.0'],
  'unspecified6.test': ['::'],
  'broadcast.test': ['255.255.255.255'],
  'mapped.test': ['::ffff:7f00:1'],
  'compatible.test': ['::7f00:1'],
  'translated.test': ['64:ff9b::7f00:1'],
  'translated-locally.test': ['64:ff9b:1::7f00:1'],
  'six-to-four.test': ['2002:7f00:1::'],
  'teredo.test': ['2001::7f00:1'],
  'either.test': [OUTSIDE, '127.0.0.1'],
  'either6.test': [OUTSIDE, '::1'],
  'no-address.test': [],
};
let lookups: Record<string, number> = {};
const names = await startNameServer((name) => {
  lookups[name] = (lookups[name] ?? 0) + 1;
  if (name === 'silent.test') return null;
  // One look-up asks two questions, for IPv4 and IPv6. So the third question belongs to the second
  // look-up.
  if (name === 'rebinding.images.test') return lookups[name] > 2 ? ['127.0.0.1'] : [OUTSIDE];
  return name.endsWith('images.test') ? [OUTSIDE] : (PRIVATE[name] ?? []);
});
const server = await startImageServer();
const gatewayWith = (timeoutMs: number) => ({
  IMAGE_NAME_SERVERS: names.address,
  IMAGE_ALLOWED_NETWORKS: `${OUTSIDE}/32`,
  IMAGE_TIMEOUT_MS: String(timeoutMs),
  NODE_EXTRA_CA_CERTS: AUTHORITY,
});
const stack = useSharedStack(gatewayWith(TIMEOUT_MS));
const impatient = useSharedStack(gatewayWith(SHORT_TIMEOUT_MS));
let model: Upstream;
let org: string;
let key: string;
/** How many requests were answered. In the end that many must be counted. */
let answered = 0;

const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url));
const PNG = fixture('harbour.png');
const WEBP = fixture('harbour.webp');
const dataUrl = (bytes: Buffer, type: string) => `data:image/${type};base64,${bytes.toString('base64')}`;
const link = (path: string, host = 'images.test') => `https://${host}:${server.port}${path}`;
const part = (url: string) => ({ type: 'image_url', image_url: { url } });
const user = (...urls: string[]) => ({ role: 'user', content: urls.map(part) });

const send = (...messages: object[]): Promise<Answer> => sendTo(stack, ...messages);
async function sendTo(through: typeof stack, ...messages: object[]): Promise<Answer> {
  const answer = await call(through().info.gateway, { key, body: { model: 'eyes', messages } });
  if (answer.status === 200) answered++;
  return answer;
}

/** The requests that the model got, without the runner's probes. */
const requests = () => model.requests.filter(({ method }) => method === 'POST');
/** The images of the newest request, as the model received them. */
const seen = (): string[] =>
  requests()
    .at(-1)
    ?.json()
    .messages.flatMap(({ content }: { content: unknown }) => (Array.isArray(content) ? content : []))
    .map((got: ReturnType<typeof part>) => got.image_url.url);

/**
 * Expects a refusal that names the image and the reason, but reveals nothing about the network
 * behind the gateway. The model must not be called.
 */
async function expectRefused(url: string, why: string | RegExp, through = stack): Promise<void> {
  const calls = requests().length;
  const answer = await sendTo(through, {
    role: 'user',
    content: [{ type: 'text', text: 'Look' }, part(url)],
  });
  expect([url, answer.status, answer.code]).toEqual([url, 400, 'invalid_request']);
  expect(answer.message).toMatch(/^messages\[0\]\.content\[1\]\.image_url\.url\b/);
  expect(answer.message).toMatch(why);
  expect(answer.message).not.toMatch(/127\.0\.0|ECONN|ENOTFOUND|\.test/);
  expect(answer.headers['x-ratelimit-remaining-requests']).toBeUndefined();
  expect(requests().length).toBe(calls);
}

const serve = (path: string, handler: Handler) => void server.handlers.set(path, handler);
const redirect = (from: string, to: string) =>
  serve(from, (_request, response) => response.writeHead(302, { location: to }).end());

beforeAll(async () => {
  model = await startUpstream((_request, reply) => {
    const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
    const message = { role: 'assistant', content: 'A harbour' };
    reply.json({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
  });
  org = await newOrg(stack(), { images: true });
  await publish(stack(), org, model.url, { name: 'eyes', kind: 'vision', context: CONTEXT });
  key = (await newKey(stack(), org)).key;
  await eventually(async () => (await send(ask('eyes', 'Hi').messages[0] as object)).status === 200);
});
beforeEach(() => {
  lookups = {};
  serve('/cat.png', (_request, response) => response.end(PNG));
  serve('/cat.webp', (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/plain' }).end(WEBP),
  );
});
afterAll(async () => {
  names.close();
  server.close();
  await model?.close();
});

describe('the model gets linked images inline, as what they are', () => {
  it('four over several messages, links and inline ones, in their order; never five [image.count] [image.link.taken]', async () => {
    const inline = dataUrl(fixture('harbour.gif'), 'gif');
    const turns = [
      user(link('/cat.webp'), inline),
      { role: 'assistant', content: 'Nice' },
      user(link('/cat.png', 'cdn.images.test'), link('/cat.png', OUTSIDE)),
    ];
    expect((await send(...turns)).status).toBe(200);
    const png = dataUrl(PNG, 'png');
    expect(seen()).toEqual([dataUrl(WEBP, 'webp'), inline, png, png]);
    const five = await send(...turns, user(link('/cat.png')));
    expect([five.status, five.code]).toEqual([400, 'invalid_request']);
    expect(five.message).toMatch(/^messages\[3\]\.content\[0\]\.image_url\.url .*4 images/);
  });

  it('over three redirects, not over four', async () => {
    redirect('/1', link('/2', 'cdn.images.test'));
    redirect('/2', '/3');
    redirect('/3', '/4');
    redirect('/4', '/cat.png');
    expect((await send(user(link('/2')))).status).toBe(200);
    expect(seen()).toEqual([dataUrl(PNG, 'png')]);
    await expectRefused(link('/1'), 'redirected more than 3 times');
  });

  it('of 20,000,000 bytes, not of one more, declared or not [image.link.size] [limit.image-link]', async () => {
    const largest = Buffer.concat([PNG, Buffer.alloc(MAX_BYTES - PNG.length)]);
    serve('/large', (_request, response) => response.end(largest));
    serve('/larger', (_request, response) => response.end(Buffer.concat([largest, PNG])));
    serve('/undeclared', (_request, response) => {
      response.write(largest);
      response.end('x');
    });
    expect((await send(user(link('/large')))).status).toBe(200);
    expect(Buffer.from(seen()[0]?.split(',')[1] ?? '', 'base64').equals(largest)).toBe(true);
    await expectRefused(link('/larger'), 'larger than 20 MB');
    await expectRefused(link('/undeclared'), 'larger than 20 MB');
  });

  it('by a link of 2,048 characters, not of 2,049 [image.link.length] [limit.image-link]', async () => {
    const long = link('/').padEnd(2_048, 'a');
    serve(new URL(long).pathname, (_request, response) => response.end(PNG));
    expect((await send(user(long))).status).toBe(200);
    await expectRefused(`${long}a`, 'at most 2048 characters');
  });
});

describe('a link is refused, and nothing but the allowed address is reached', () => {
  const UNREACHABLE = 'cannot be reached from the internet';

  it.each(Object.keys(PRIVATE))('to a name in %s [image.link.reachable]', async (name) => {
    await expectRefused(link('/cat.png', name), UNREACHABLE);
    expect(lookups[name]).toBe(2);
  });

  it.each([
    ...['127.0.0.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001', '127.1', '0'],
    ...['[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]'],
    ...['[2002:7f00:1::]', '127。0。0。1', '\u2460\u2461\u2466.0.0.1', '127.0.0.1.', '%31%32%37.0.0.1'],
    ...['169.254.169.254', '10.0.0.1', '[fe80::1]', 'localhost'],
  ])('to %s [image.link.reachable]', async (host) => {
    await expectRefused(link('/cat.png', host), UNREACHABLE);
  });

  it.each([
    ['a user name', (url: string) => url.replace('//', '//me@'), 'must not contain a user name or password'],
    [
      'a host in the user name',
      (url: string) => url.replace('//', '//8.8.8.8@'),
      'must not contain a user name or password',
    ],
    ['spaces [image.link.spaces]', (url: string) => `${url} `, 'must not contain spaces'],
    ['a tab', (url: string) => url.replace('/cat', '/\tcat'), 'must not contain spaces'],
    ['a port where nothing listens', (url: string) => url.replace(/:\d+\//, ':1/'), UNREACHABLE],
    ['an impossible port', (url: string) => url.replace(/:\d+\//, ':65536/'), 'valid URL'],
    ['http [image.link.scheme]', (url: string) => url.replace('https', 'http'), 'start with https://'],
    [
      'a certificate for another name',
      (url: string) => url.replace('images.test', 'a.b.images.test'),
      UNREACHABLE,
    ],
    ['nothing at its path', (url: string) => url.replace('cat', 'dog'), 'status 404'],
  ])('with %s', async (_name, change, why) => {
    await expectRefused(change(link('/cat.png')), why);
  });

  it.each([
    ['http [image.link.scheme]', () => link('/cat.png').replace('https', 'http'), 'not https'],
    ['a private address', () => link('/cat.png', '127.0.0.1'), UNREACHABLE],
    ['a private address spelt as a number', () => link('/cat.png', '2130706433'), UNREACHABLE],
    ['a name with a private address', () => link('/cat.png', 'loopback.test'), UNREACHABLE],
    ['a file', () => 'file:///etc/passwd', 'not https'],
    ['a URL with a password', () => link('/cat.png').replace('//', '//me:secret@'), 'user name or password'],
  ])('that redirects to %s [image.link.reachable]', async (_name, to, why) => {
    redirect('/away', to());
    await expectRefused(link('/away'), why);
  });

  it('to a name that rebinds: the address that was checked is the one connected to, and a redirect is checked anew [image.link.reachable]', async () => {
    const rebinding = link('/cat.png', 'rebinding.images.test');
    expect((await send(user(rebinding))).status).toBe(200);
    await expectRefused(rebinding, UNREACHABLE);
    lookups = {};
    redirect('/again', rebinding);
    await expectRefused(link('/again', 'rebinding.images.test'), UNREACHABLE);
    expect(lookups['rebinding.images.test']).toBe(4);
  });

  it.each<[string, string | Buffer, string]>([
    ['text', 'Hello', 'is not a PNG'],
    ['an SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'is not a PNG'],
    ['nothing', '', 'is not a PNG'],
  ])('to %s, whatever its content type says [image.link.reachable]', async (_name, body, why) => {
    serve('/x.png', (_request, response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(body),
    );
    await expectRefused(link('/x.png'), why);
  });

  it('to an image that is cut short [image.link.reachable]', async () => {
    serve('/cut', (_request, response) => {
      response.writeHead(200, { 'content-length': PNG.length + 1 });
      response.write(PNG, () => response.socket?.destroy());
    });
    await expectRefused(link('/cut'), 'broke off');
  });

  it('to what does not download in time: silent names, silent servers, images that trickle [image.link.reachable] [image.link.time]', async () => {
    serve('/silent', () => {});
    const closed = new Promise<void>((resolve) => {
      serve('/trickle', (_request, response) => {
        const timer = setInterval(() => response.write(PNG.subarray(0, 1)), 50);
        response.on('close', () => resolve(clearInterval(timer)));
      });
    });
    const late = [link('/silent'), link('/trickle'), link('/', 'silent.test')];
    await Promise.all(late.map((url) => expectRefused(url, 'within 2 seconds', impatient)));
    await closed;
  });

  it('and the error names the one of several that failed', async () => {
    const answer = await send(user(link('/cat.png')), user(link('/cat.webp'), link('/none')));
    expect(answer.message).toMatch(/^messages\[1\]\.content\[1\]\.image_url\.url: .*status 404/);
  });

  it('and counts for nothing: not toward the minute, not at once, not in the usage', async () => {
    const own = await newKey(stack(), org, { rpm: 2, atOnce: 1 });
    const bad = { model: 'eyes', messages: [user(link('/none'))] };
    const good = { model: 'eyes', messages: [user(link('/cat.png'))] };
    const statuses: number[] = [];
    for (const body of [bad, bad, good, bad, good, bad]) {
      statuses.push((await call(stack().info.gateway, { key: own.key, body })).status);
    }
    expect(statuses).toEqual([400, 400, 200, 400, 200, 429]);
    answered += 2;
    await eventually(async () => {
      const { totals } = await usageOf(stack(), org);
      return totals.requests === answered && totals.errors === 0;
    });
    expect(new Set(server.reached)).toEqual(new Set([`::ffff:${OUTSIDE}`]));
  });
});

describe('the month', () => {
  it('that cannot take the reservation fetches no image: its name is not looked up, its server not reached [plan.reservation.first]', async () => {
    const poor = await newOrg(stack(), { images: true, tokensPerMonth: CONTEXT - 1 });
    await publish(stack(), poor, model.url, { name: 'eyes', kind: 'vision', context: CONTEXT });
    const { key: poorKey } = await newKey(stack(), poor);
    const poorly = (body: object) => call(stack().info.gateway, { key: poorKey, body });
    // Waits until the gateway knows that the model is running.
    await eventually(async () => (await poorly(ask('eyes', 'Hi'))).code === 'quota_exceeded');
    const linked = { model: 'eyes', messages: [user(link('/cat.png'))] };
    const reached = server.reached.length;
    lookups = {};
    expect(await poorly(linked)).toMatchObject({ status: 429, code: 'quota_exceeded' });
    expect([server.reached.length, lookups]).toEqual([reached, {}]);
    must(await controlOf(stack()).setOrgPlan(OPERATOR, { org: poor, plan: 'Pro' }));
    expect((await poorly(linked)).status).toBe(200);
    expect([server.reached.length, lookups]).toEqual([reached + 1, { 'images.test': 2 }]);
  });
});
