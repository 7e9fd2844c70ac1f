import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { isRefusal, newOrgId, newRefusal, PASSED, type Refusal } from '@tidegate/contracts';
import { eventually } from '@tidegate/testing';
import { startHarness } from '../testing/harness.ts';
import { createImageFetcher, type DataUrls, type ImageFetcher, type ImageFetcherOptions } from './fetch.ts';
import { isPublicAddress } from './public-address.ts';

/**
 * A self-signed key pair made for these tests. Valid for images.test, *.images.test and 127.0.0.1
 * from 2020 to 2120.
 */
const CERT = `-----BEGIN CERTIFICATE-----
MIIBezCCASKgAwIBAgIBATAKBggqhkjOPQQDAjAWMRQwEgYDVQQDDAtpbWFnZXMu
dGVzdDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFjEUMBIGA1UE
AwwLaW1hZ2VzLnRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAS1feQ6ZhU2
p0/sNGc5e+0s67eSxsD1y77+3snb3tSGkCWWRuaZqJ8vjieYI+MXRp4ALA1zp1WO
vjmPmrjzL+Lbo18wXTArBgNVHREEJDAiggtpbWFnZXMudGVzdIINKi5pbWFnZXMu
dGVzdIcEfwAAATAPBgNVHRMBAf8EBTADAQH/MB0GA1UdDgQWBBRjyJve8mLbn/fu
39X7HSpv3VIKHDAKBggqhkjOPQQDAgNHADBEAiAwcRxsUms8ceoGwzfdAytJ76IH
Zl9hliM5xKlE5JCVqAIgGf57xBHbGfwtfTdhsKF8mtxBUVJrK/cefex6wsZccn0=
-----END CERTIFICATE-----`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg08hFqxzlsDM1KzvY
fTI6gxw1Q/HnJ10IvAGOnztFkIShRANCAAS1feQ6ZhU2p0/sNGc5e+0s67eSxsD1
y77+3snb3tSGkCWWRuaZqJ8vjieYI+MXRp4ALA1zp1WOvjmPmrjzL+Lb
-----END PRIVATE KEY-----`;

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const LOOPBACK = '127.0.0.1';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let port: number;
let handlers: Record<string, Handler>;
let requests: IncomingMessage[];
let resolved: string[];

beforeEach(async () => {
  requests = [];
  resolved = [];
  handlers = {
    '/cat.png': (_, response) => response.end(PNG),
    '/cat.gif': (_, response) => response.end(GIF),
  };
  server = createServer({ cert: CERT, key: KEY }, (request, response) => {
    requests.push(request);
    const handler = handlers[request.url ?? ''];
    if (handler) handler(request, response);
    else response.writeHead(404).end();
  });
  server.listen(0, LOOPBACK);
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});

afterEach(async () => {
  server.close();
  server.closeAllConnections();
});

const at = (path: string, host = 'images.test'): string => `https://${host}:${port}${path}`;

const fetcherOf = (options: Partial<ImageFetcherOptions> = {}): ImageFetcher =>
  createImageFetcher({
    ca: CERT,
    timeoutMs: 600_000,
    isAllowed: (address) => address === LOOPBACK,
    resolve: async (host) => {
      resolved.push(host);
      return [LOOPBACK];
    },
    ...options,
  });

function fetchAll(
  urls: string[],
  options: Partial<ImageFetcherOptions> = {},
  signal = new AbortController().signal,
) {
  const links = urls.map((url, index) => ({
    url,
    index,
    path: `messages[0].content[${index}].image_url.url`,
  }));
  return fetcherOf(options).fetchAll(links, () => PASSED, signal);
}

function messageOf(fetched: DataUrls | Refusal): string {
  if (!isRefusal(fetched)) throw new Error('fetched');
  expect(fetched.code).toBe('invalid_request');
  for (const secret of ['images.test', LOOPBACK, `${port}`, '/cat', 'ECONN'])
    expect(fetched.message).not.toContain(secret);
  return fetched.message;
}

function dataUrlsOf(fetched: DataUrls | Refusal): string[] {
  if (isRefusal(fetched)) throw new Error(fetched.message);
  return fetched.map((json) => JSON.parse(json.toString('latin1')));
}

const redirectTo =
  (location: string, status = 302): Handler =>
  (_, response) =>
    response.writeHead(status, { location }).end();

const UNREACHABLE = 'cannot be reached from the internet';

describe('createImageFetcher', () => {
  it('returns data URLs of the real types, in the order of the links, as JSON strings [image.link.taken]', async () => {
    handlers['/lie.png'] = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(GIF);
    const fetched = await fetchAll([at('/cat.png'), at('/cat.gif'), at('/lie.png#y')]);
    expect(dataUrlsOf(fetched)).toEqual([
      `data:image/png;base64,${PNG.toString('base64')}`,
      `data:image/gif;base64,${GIF.toString('base64')}`,
      `data:image/gif;base64,${GIF.toString('base64')}`,
    ]);
  });

  it('returns nothing for no links', async () => {
    expect(await fetchAll([])).toEqual([]);
  });

  it('keeps every byte of a large image', async () => {
    const image = Buffer.concat([PNG, Buffer.alloc(3_000_001, 7)]);
    handlers['/big.png'] = (_, response) => response.end(image);
    const [url] = dataUrlsOf(await fetchAll([at('/big.png')]));
    expect(Buffer.from(`${url}`.slice('data:image/png;base64,'.length), 'base64').equals(image)).toBe(true);
  });

  it('joins one-byte chunks as they arrive, and never keeps thousands of buffers', async () => {
    const concat = jest.spyOn(Buffer, 'concat');
    try {
      const image = Buffer.concat([PNG, Buffer.alloc(4_000, 7)]);
      handlers['/slow.png'] = async (_, response) => {
        for (const byte of image) await new Promise((sent) => response.write(Buffer.of(byte), sent));
        response.end();
      };
      const [url] = dataUrlsOf(await fetchAll([at('/slow.png')]));
      expect(url).toContain(image.toString('base64'));
      expect(Math.max(...concat.mock.calls.map(([pieces]) => pieces.length))).toBeLessThanOrEqual(200);
    } finally {
      concat.mockRestore();
    }
  });

  it('gives up on an image that comes in tens of thousands of pieces', async () => {
    handlers['/tiny.png'] = (_, response) => {
      response.flushHeaders();
      for (const byte of PNG)
        response.socket?.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.of(byte, 13, 10)]));
      response.socket?.write(`${'1\r\nx\r\n'.repeat(70_000)}0\r\n\r\n`);
    };
    expect(messageOf(await fetchAll([at('/tiny.png')]))).toContain('too many tiny pieces');
  });

  it('sends the host name and asks for uncompressed images, without cookies or credentials', async () => {
    await fetchAll([at('/cat.png')]);
    const headers = requests[0]?.headers ?? {};
    expect(headers.host).toBe(`images.test:${port}`);
    expect(headers['accept-encoding']).toBe('identity');
    expect(headers.cookie ?? headers.authorization ?? headers.referer).toBeUndefined();
  });

  it("downloads a request's images in parallel", async () => {
    const waiting: ServerResponse[] = [];
    handlers['/meet.png'] = (_, response) => {
      waiting.push(response);
      if (waiting.length === 4) for (const one of waiting) one.end(PNG);
    };
    expect(dataUrlsOf(await fetchAll(Array(4).fill(at('/meet.png'))))).toHaveLength(4);
  });

  describe('only reaches public addresses [image.link.reachable]', () => {
    it.each([
      'https://127.0.0.1/',
      'https://127.1/',
      'https://0x7f.1/',
      'https://2130706433/',
      'https://0177.0.0.1/',
      'https://0/',
      'https://[::1]/',
      'https://[::ffff:127.0.0.1]/',
      'https://[::ffff:7f00:1]/',
      'https://[64:ff9b::7f00:1]/',
      'https://169.254.169.254/latest/meta-data',
      'https://10.0.0.1/',
      'https://192.168.0.1/',
      'https://[fd00::1]/',
      'https://\u2460\u2461\u2466.0.0.1/',
      'https://127。0。0。1/',
    ])('refuses the literal address in %s without a look-up or a connection', async (url) => {
      expect(messageOf(await fetchAll([url], { isAllowed: isPublicAddress }))).toContain(UNREACHABLE);
      expect(resolved).toEqual([]);
    });

    it("refuses this test's server, by address and by name, unless its network is allowed", async () => {
      for (const host of [LOOPBACK, 'images.test'])
        expect(messageOf(await fetchAll([at('/cat.png', host)], { isAllowed: isPublicAddress }))).toContain(
          UNREACHABLE,
        );
      expect(requests).toHaveLength(0);
    });

    it('refuses a name if any of its addresses is not public', async () => {
      const resolve = async (): Promise<string[]> => [LOOPBACK, '10.0.0.1'];
      expect(messageOf(await fetchAll([at('/cat.png')], { resolve }))).toContain(UNREACHABLE);
      expect(requests).toHaveLength(0);
    });

    it('connects to the address that it checked, so a name that changes between look-ups gains nothing', async () => {
      let lookups = 0;
      const judged: string[] = [];
      const fetched = await fetchAll([at('/cat.png')], {
        resolve: async () => [lookups++ === 0 ? LOOPBACK : '10.0.0.1'],
        isAllowed: (address) => {
          judged.push(address);
          return true;
        },
      });
      expect(dataUrlsOf(fetched)).toHaveLength(1);
      expect(lookups).toBe(1);
      expect(judged).toEqual([LOOPBACK]);
    });

    it('checks the host of every redirect', async () => {
      handlers['/away'] = redirectTo('https://internal.images.test/cat.png');
      const resolve = async (host: string): Promise<string[]> => [
        host === 'images.test' ? LOOPBACK : '10.0.0.1',
      ];
      expect(messageOf(await fetchAll([at('/away')], { resolve }))).toContain(UNREACHABLE);
      handlers['/away'] = redirectTo('https://169.254.169.254/latest/meta-data');
      expect(messageOf(await fetchAll([at('/away')]))).toContain(UNREACHABLE);
    });

    it('uses the same words for a refused address and for a name without an address', async () => {
      const none = await fetchAll([at('/cat.png')], { resolve: async () => [] });
      const unknown = await fetchAll([at('/cat.png')], {
        resolve: async () => Promise.reject(new Error('ENOTFOUND')),
      });
      const refused = await fetchAll([at('/cat.png')], { isAllowed: () => false });
      expect(new Set([none, unknown, refused].map(messageOf)).size).toBe(1);
    });
  });

  it.each([301, 302, 303, 307, 308])(
    'follows redirects with status %i, relative ones too',
    async (status) => {
      handlers['/1'] = redirectTo('/2', status);
      handlers['/2'] = redirectTo(at('/3', 'other.images.test'), status);
      handlers['/3'] = redirectTo('cat.png', status);
      expect(dataUrlsOf(await fetchAll([at('/1')]))).toHaveLength(1);
      expect(resolved).toEqual(['images.test', 'images.test', 'other.images.test', 'other.images.test']);
    },
  );

  it('follows three redirects and refuses a fourth', async () => {
    for (const n of [1, 2, 3, 4]) handlers[`/${n}`] = redirectTo(`/${n + 1}`);
    handlers['/5'] = (_, response) => response.end(PNG);
    expect(dataUrlsOf(await fetchAll([at('/2')]))).toHaveLength(1);
    expect(messageOf(await fetchAll([at('/1')]))).toContain('redirected more than 3 times');
  });

  it.each([
    ['http://images.test/cat.png', 'not https', '[image.link.scheme]'],
    ['ftp://images.test/cat.png', 'not https', '[image.link.scheme]'],
    ['file:///etc/passwd', 'not https', '[image.link.scheme]'],
    ['data:image/png;base64,AAAA', 'not https', '[image.link.scheme]'],
    ['https://bob:secret@images.test/', 'user name or password', '[image.link.reachable]'],
    ['https://[', 'invalid URL', '[image.link.reachable]'],
  ])('refuses a redirect to %s: %s %s', async (location, reason) => {
    handlers['/away'] = redirectTo(location);
    expect(messageOf(await fetchAll([at('/away')]))).toContain(reason);
  });

  it.each([204, 206, 304, 403, 404, 500])(
    'refuses an answer with status %i [image.link.reachable]',
    async (status) => {
      handlers['/x'] = (_, response) => response.writeHead(status).end();
      expect(messageOf(await fetchAll([at('/x')]))).toContain(`status ${status}`);
    },
  );

  it('names the image that failed', async () => {
    const message = messageOf(await fetchAll([at('/cat.png'), at('/none'), at('/cat.gif')]));
    expect(message).toMatch(
      /^messages\[0\]\.content\[1\]\.image_url\.url: the image could not be downloaded/,
    );
  });

  it('refuses an untrusted certificate, and one for another name', async () => {
    const resolve = async () => [LOOPBACK];
    const fetcher = createImageFetcher({ timeoutMs: 600_000, isAllowed: () => true, resolve });
    const link = { url: at('/cat.png'), index: 0, path: 'messages[0].content[0].image_url.url' };
    expect(messageOf(await fetcher.fetchAll([link], () => PASSED, new AbortController().signal))).toContain(
      'over HTTPS',
    );
    expect(messageOf(await fetchAll([at('/cat.png', 'else.test')]))).toContain('over HTTPS');
    expect(requests).toHaveLength(0);
  });

  it.each<[string, Buffer]>([
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['HTML', Buffer.from('<html></html>')],
    ['nothing', Buffer.alloc(0)],
  ])('refuses %s whatever its content type says', async (_, body) => {
    handlers['/x.png'] = (__, response) => response.writeHead(200, { 'content-type': 'image/png' }).end(body);
    expect(messageOf(await fetchAll([at('/x.png')]))).toContain('is not a PNG, JPEG, WebP or GIF image');
  });

  it('refuses a compressed answer', async () => {
    handlers['/x.png'] = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(PNG);
    expect(messageOf(await fetchAll([at('/x.png')]))).toContain('compressed');
  });

  it('accepts an image of exactly the maximum and refuses one byte more, declared or not [image.link.size] [limit.image-link]', async () => {
    const image = Buffer.concat([PNG, Buffer.alloc(1_000 - PNG.length)]);
    handlers['/max'] = (_, response) => response.end(image);
    handlers['/declared'] = (_, response) =>
      response.writeHead(200, { 'content-length': 1_001 }).flushHeaders();
    handlers['/streamed'] = (_, response) => {
      response.write(image);
      response.write('x');
    };
    expect(dataUrlsOf(await fetchAll([at('/max')], { maxBytes: 1_000 }))).toHaveLength(1);
    for (const path of ['/declared', '/streamed']) {
      expect(messageOf(await fetchAll([at(path)], { maxBytes: 1_000 }))).toContain(
        'is larger than 0.001 MB (1000 bytes)',
      );
    }
  });

  it('refuses an image that is cut short, and says so', async () => {
    const reset = (response: ServerResponse) => response.write(PNG, () => response.socket?.destroy());
    handlers['/cut'] = (_, response) => void reset(response.writeHead(200, { 'content-length': 1_000 }));
    handlers['/cut-chunks'] = (_, response) => void reset(response);
    for (const path of ['/cut', '/cut-chunks']) {
      expect(messageOf(await fetchAll([at(path)]))).toContain('its server broke off');
    }
  });

  it('hangs up on a server that sends without end', async () => {
    const closed = new Promise<void>((resolve) => {
      handlers['/endless'] = (_, response) => {
        const send = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
        };
        response.on('drain', send).on('close', resolve);
        send();
      };
    });
    expect(messageOf(await fetchAll([at('/endless')]))).toContain('is larger than 20 MB (20000000 bytes)');
    await closed;
  });

  it.each<[string, Handler]>([
    ['never answers', () => {}],
    ['sends its headers and stalls', (_, response) => response.writeHead(200).flushHeaders()],
    ['stalls in the image', (_, response) => void response.write(PNG)],
  ])('refuses a server that %s, in time [image.link.time]', async (_, handler) => {
    handlers['/slow'] = handler;
    expect(messageOf(await fetchAll([at('/slow')], { timeoutMs: 300 }))).toContain(
      'could not be downloaded within 0.3 seconds',
    );
  });

  it('gives up on a server that accepts connections and sends nothing, in time and when aborted', async () => {
    for (const how of ['time', 'signal']) {
      const silent = createTcpServer((socket) => socket.on('error', () => {}).unref()).unref();
      silent.listen(0, LOOPBACK);
      const accepted = once(silent, 'connection');
      await once(silent, 'listening');
      const url = `https://images.test:${(silent.address() as AddressInfo).port}/`;
      const controller = new AbortController();
      const timeoutMs = how === 'time' ? 300 : 600_000;
      const fetching = fetchAll([url], { timeoutMs }, controller.signal);
      const ended =
        how === 'time'
          ? fetching.then((fetched) => expect(messageOf(fetched)).toContain('within 0.3 seconds'))
          : expect(fetching).rejects.toThrow('abort');
      const [socket] = await accepted;
      const closed = once(socket.resume(), 'close');
      if (how === 'signal') controller.abort();
      await Promise.all([ended, closed]);
      silent.close();
    }
  });

  it('includes the look-up and all redirects in its time limit [image.link.time]', async () => {
    const resolve = (_: string, signal: AbortSignal): Promise<string[]> =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    expect(messageOf(await fetchAll([at('/cat.png')], { resolve, timeoutMs: 50 }))).toContain(
      'could not be downloaded within',
    );
  });

  it('ends the other downloads when one fails', async () => {
    const closed = new Promise<void>((resolve) => {
      handlers['/slow'] = (_, response) => void response.on('close', resolve).write(PNG);
    });
    handlers['/fails'] = (_, response) => {
      if (requests.length === 2) response.writeHead(404).end();
      else setImmediate(() => handlers['/fails']?.(_, response));
    };
    expect(messageOf(await fetchAll([at('/slow'), at('/fails')]))).toContain('content[1]');
    await closed;
  });

  it('rejects and hangs up when its signal is aborted', async () => {
    const controller = new AbortController();
    let began: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      began = resolve;
    });
    const closed = new Promise<void>((resolve) => {
      handlers['/slow'] = (_, response) => {
        response.on('close', resolve).write(PNG);
        began();
      };
    });
    const fetching = fetchAll([at('/slow')], {}, controller.signal);
    const rejected = expect(fetching).rejects.toThrow('abort');
    await begun;
    controller.abort();
    await rejected;
    await closed;
    await expect(fetchAll([at('/cat.png')], {}, AbortSignal.abort())).rejects.toThrow('abort');
  });

  it('claims memory for each piece as it arrives, and then for the rest of the data URL', async () => {
    const claims: number[] = [];
    const claimed = () => claims.reduce((sum, bytes) => sum + bytes, 0);
    let finish: () => void = () => {};
    handlers['/slow'] = (_, response) => {
      response.write(PNG);
      finish = () => response.end(Buffer.alloc(1_000));
    };
    const links = [{ url: at('/slow'), index: 0, path: 'messages[0].content[0].image_url.url' }];
    const claim = (bytes: number) => {
      claims.push(bytes);
      return PASSED;
    };
    const fetching = fetcherOf().fetchAll(links, claim, new AbortController().signal);
    await eventually(() => claimed() === PNG.length);
    finish();
    // Add the two quotes.
    expect(dataUrlsOf(await fetching).map(({ length }) => length + 2)).toEqual([claimed()]);
  });

  it.each([
    ['a piece', PNG.length - 1],
    ['a data URL', PNG.length],
  ])('refuses the request, and ends its other downloads, when %s finds no room', async (_, room) => {
    const busy = newRefusal({ code: 'rate_limit_exceeded', cause: 'busy', message: 'full', retryAfterS: 1 });
    let left = room;
    const claim = (bytes: number) => {
      left -= bytes;
      return left < 0 ? busy : PASSED;
    };
    const asked = new Promise<void>((resolve) => {
      handlers['/silent'] = () => resolve();
    });
    handlers['/cat.png'] = (_request, response) => void asked.then(() => response.end(PNG));
    const links = ['/silent', '/cat.png'].map((path, index) => ({ url: at(path), index, path: 'p' }));
    const fetching = fetcherOf().fetchAll(links, claim, new AbortController().signal);
    expect(await fetching).toEqual(busy);
  });
});

describe('the memory that linked images may take together', () => {
  it("is available to others while one organization's downloads stall", async () => {
    const images = fetcherOf();
    const harness = await startHarness({ images, env: { MAX_BUFFERED_BODY_BYTES: '4000000' } });
    try {
      const orgId = newOrgId();
      await harness.publish({ name: 'vision', kind: 'vision' });
      await harness.publish({ name: 'vision', kind: 'vision', modelId: 'mdl_other', orgId });
      const authorization = `Bearer ${harness.addKey({ orgId })}`;
      const ask = async (path: string, headers = {}): Promise<number> => {
        const link = { type: 'image_url', image_url: { url: at(path) } };
        const messages = [{ role: 'user', content: [link, link, link, link] }];
        return (await harness.complete({ model: 'vision', messages }, { headers })).status;
      };
      let stalled = 0;
      handlers['/stalls'] = (_, response) => response.write(Buffer.alloc(150_000), () => void stalled++);
      const refused: number[] = [];
      const asked: Promise<void>[] = [];
      while (asked.length < 8) {
        const before = { stalled, refused: refused.length };
        asked.push(ask('/stalls').then((status) => void refused.push(status)));
        await eventually(() => stalled === before.stalled + 4 || refused.length > before.refused);
      }
      handlers['/large'] = (_, response) => response.end(Buffer.concat([PNG, Buffer.alloc(180_000)]));
      expect(await ask('/large', { authorization })).toBe(200);
      expect(new Set(refused)).toEqual(new Set([429]));
      expect(harness.gateway.exchanges.size).toBeGreaterThan(0);
      server.closeAllConnections();
      await Promise.all(asked);
    } finally {
      await harness.stop();
    }
  });
});
