import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { LLAMA_CPP, startUpstream, type Upstream } from '@tidegate/testing';
import { type InspectedServer, inspect } from './inspect.ts';

let server: Upstream | undefined;
afterEach(() => server?.close());

interface Said {
  readonly status?: number;
  readonly type?: string;
  readonly body?: string;
}

/**
 * A server with these answers at /v1/models and, to a GET and a POST, at /v1/chat/completions. It
 * answers 404 otherwise.
 */
async function serverThat(models?: Said, completions?: Said, posted?: Said): Promise<Upstream> {
  server = await startUpstream(async ({ method, path }, reply) => {
    const there = method === 'POST' ? posted : completions;
    const said = path === '/v1/models' ? models : path === '/v1/chat/completions' ? there : undefined;
    const { status = 200, type = 'application/json', body = '' } = said ?? { status: 404 };
    reply.start({ status, headers: { 'content-type': type } });
    await reply.write(body);
    reply.end();
  });
  return server;
}

const find = (upstream: Pick<Upstream, 'url'>, more: Partial<InspectedServer> = {}) =>
  inspect(
    {
      baseUrl: `${upstream.url}/v1`,
      key: '',
      name: 'tide',
      nameAssumed: false,
      own: false,
      timeoutMs: 5_000,
      ...more,
    },
    new AbortController().signal,
  );

const listing = (ids: string[], ownedBy = 'somebody'): Said => ({
  body: JSON.stringify({ object: 'list', data: ids.map((id) => ({ id, owned_by: ownedBy })) }),
});
const recorded = (body: object): Said => ({ body: JSON.stringify(body) });
const [router] = LLAMA_CPP.router.models.data;
/** TGI lists its one model with its own name as the owner. */
const tgi = listing(['Qwen/Qwen3-8B'], 'Qwen/Qwen3-8B');
const wrong = (sentence: string) => ({ kind: 'misconfigured', sentence });

describe('a server that lists its models', () => {
  const cases: [string, Said, Partial<InspectedServer>, ReturnType<typeof wrong> | null][] = [
    ['serves what it lists', listing(['moon', 'tide']), {}, null],
    ['serves a name that is short for its latest tag', listing(['tide:latest']), {}, null],
    [
      'does not serve another tag of a name',
      listing(['tide:7b']),
      {},
      wrong("The server does not serve 'tide'. It serves tide:7b."),
    ],
    [
      'does not serve what it does not list',
      listing(['a', 'b']),
      {},
      wrong("The server does not serve 'tide'. It serves a, b."),
    ],
    [
      'is described in bounded length, whatever it lists',
      listing(['a\u0000\u001b[31m\n\u2028b', 'x'.repeat(500), 'c', 'd', 'e', 'f', 'g']),
      {},
      wrong(`The server does not serve 'tide'. It serves a[31mb, ${'x'.repeat(80)}…, c, d, e and 2 more.`),
    ],
    [
      'may serve no model',
      { body: '{"object":"list","data":null}' },
      {},
      wrong("The server does not serve 'tide'. It serves no model."),
    ],
    ['answers any name when it is llama.cpp with one model', recorded(LLAMA_CPP.models), {}, null],
    [
      'checks names when it is llama.cpp that loads models, even if it has one',
      recorded({ data: [router] }),
      {},
      wrong("The server does not serve 'tide'. It serves other."),
    ],
    ['answers to an alias', recorded({ data: [{ ...router, aliases: ['moon', 'tide'] }] }), {}, null],
    [
      'checks names when it is llama.cpp with several models',
      listing(['a', 'b'], 'llamacpp'),
      {},
      wrong("The server does not serve 'tide'. It serves a, b."),
    ],
    ['answers any name when it is SGLang', listing(['Qwen/Qwen3-8B'], 'sglang'), {}, null],
    ['answers to the name that TGI tells callers to send', tgi, { name: 'tgi' }, null],
    ['answers to an assumed name when it is TGI', tgi, { nameAssumed: true }, null],
    [
      'does not answer to another given name when it is TGI',
      tgi,
      {},
      wrong("The server does not serve 'tide'. It serves Qwen/Qwen3-8B."),
    ],
    [
      'checks names when it is vLLM, whatever its model is called',
      listing(['vllm'], 'vllm'),
      { nameAssumed: true, own: true },
      wrong("The server does not serve 'tide'. It serves vllm."),
    ],
    [
      'does not answer to an assumed name when it is of unknown make',
      listing(['a']),
      { nameAssumed: true },
      wrong("The server does not serve 'tide'. It serves a."),
    ],
    [
      'may list the one model it was started for under another name than was assumed',
      listing(['a']),
      { own: true, nameAssumed: true },
      null,
    ],
    [
      'was started for the model, and does not know the given name',
      listing(['a']),
      { own: true },
      wrong("The server does not serve 'tide'. It serves a."),
    ],
    [
      'was started for the model, and checks names as vLLM does',
      listing(['a'], 'vllm'),
      { own: true, nameAssumed: true },
      wrong("The server does not serve 'tide'. It serves a."),
    ],
    ['is not judged by a list that cannot be understood', { body: '{"data":[{"name":"x"}]}' }, {}, null],
    ['is not judged by a list without names', { body: '[{"name":"x"}]' }, {}, null],
    ['is not judged by a list of another form', { body: '{"models":[{"name":"x"}]}' }, {}, null],
    [
      'is not judged by a list that is too long to read',
      { body: `{"object":"list","data":[],"x":"${'y'.repeat(2 ** 20)}"}` },
      {},
      null,
    ],
    ['is alive when it has been asked too often', { status: 429 }, {}, null],
  ];
  it.each(cases)('%s', async (_name, models, more, problem) => {
    const upstream = await serverThat(models);
    expect(await find(upstream, more)).toEqual(problem);
    expect(upstream.requests.map(({ method, body }) => method + body)).toEqual(
      upstream.requests.map(() => 'GET'),
    );
  });
});

describe('a server that requires a key', () => {
  it.each([401, 403])('refuses a wrong one with %d when asked for its list', async (status) => {
    const upstream = await serverThat({ status, ...recorded(LLAMA_CPP.wrongKey) });
    expect(await find(upstream, { key: 'k' })).toEqual(
      wrong(`The server refused the upstream key (${status}).`),
    );
    expect(await find(upstream)).toEqual(
      wrong(`The server asks for an upstream key (${status}), and the model has none.`),
    );
    expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer k', undefined]);
  });

  it('refuses a wrong one although its list is public, as older versions of llama.cpp do', async () => {
    const upstream = await serverThat(listing(['x'], 'llamacpp'), { status: 401 });
    expect(await find(upstream, { key: 'k' })).toEqual(wrong('The server refused the upstream key (401).'));
    expect(await find(upstream, { key: 'k', own: true })).not.toBeNull();
  });

  it('refuses a wrong one although its list is public, as a proxy that guards completions may', async () => {
    for (const models of [listing(['tide']), listing(['tide'], 'vllm'), { body: '[{"name":"tide"}]' }]) {
      const upstream = await serverThat(models, { status: 401 });
      expect(await find(upstream, { key: 'k' })).toEqual(wrong('The server refused the upstream key (401).'));
      expect(await find(upstream)).toEqual(
        wrong('The server asks for an upstream key (401), and the model has none.'),
      );
      await upstream.close();
    }
  });

  it.each([403, 404, 405, 429, 500])(
    'is not judged by a completions path that answers a GET with %d',
    async (status) => {
      expect(await find(await serverThat(listing(['tide']), { status }), { key: 'k' })).toBeNull();
    },
  );
});

describe('a server without a list', () => {
  it.each<[string, Said | undefined, Said | undefined, string | null]>([
    ['has a chat completions API when that path takes no GET', undefined, { status: 405 }, null],
    ['has one when the path answers 400', undefined, { status: 400 }, null],
    ['has one when the path is forbidden to all but POST', undefined, { status: 403 }, null],
    ['has none when there is nothing at that path either', undefined, undefined, '404'],
    [
      'has none when its list is another document, and nothing is at that path',
      { body: '{"status":"ok"}' },
      undefined,
      'with something other than a list',
    ],
    [
      'has none when its list is not JSON, and nothing is at that path',
      { body: 'ok', type: 'text/plain' },
      undefined,
      'with something other than a list',
    ],
    [
      'has one when its list is another document, but that path takes no GET',
      { body: '{}' },
      { status: 405 },
      null,
    ],
    ['has none when it redirects', { status: 302 }, { status: 302 }, '302'],
    [
      'has none when it shows a page for any path',
      { type: 'text/html; charset=utf-8', body: '<html>' },
      { type: 'text/html', body: '<html>' },
      'with a web page',
    ],
    [
      'has one when the page is about a path that takes no GET',
      { status: 404, type: 'text/html' },
      { status: 405, type: 'text/html' },
      null,
    ],
  ])('%s', async (_name, models, completions, answered) => {
    const upstream = await serverThat(models, completions);
    const sentence = `No chat completions API at ${upstream.url}/v1: /models answered ${answered}.`;
    expect(await find(upstream)).toEqual(answered === null ? null : wrong(sentence));
    const posted = upstream.requests.filter(({ method }) => method !== 'GET');
    expect(posted.map(({ body }) => String(body))).toEqual(answered === null ? [] : ['{}']);
  });

  it.each([
    ['answers 400 to a POST of nothing', { status: 400 }, null],
    ['fails at a POST of nothing', { status: 500 }, null],
    ['answers a POST of nothing', { body: '{}' }, null],
    ['asks for a key', { status: 401 }, 'The server asks for an upstream key (401), and the model has none.'],
  ] as const)(
    'has a chat completions API where a GET finds nothing, if it %s',
    async (_does, posted, problem) => {
      const upstream = await serverThat(undefined, undefined, posted);
      expect(await find(upstream)).toEqual(problem === null ? null : wrong(problem));
    },
  );

  it('may be away for a moment where a GET finds nothing', async () => {
    const upstream = await serverThat(undefined, undefined, { status: 503 });
    expect(await find(upstream)).toEqual({ kind: 'no_answer', words: 'HTTP 503' });
  });

  it('has a chat completions API if it takes no GET at all', async () => {
    expect(await find(await serverThat({ status: 501 }, { status: 501 }))).toBeNull();
  });

  it('has none when the runner started it and nothing is at either path', async () => {
    const upstream = await serverThat();
    const sentence = `No chat completions API at ${upstream.url}/v1: /models answered 404.`;
    expect(await find(upstream, { own: true })).toEqual(wrong(sentence));
  });

  it('needs nothing at either path if it has a health path, but must not refuse the key', async () => {
    const upstream = await serverThat();
    expect(await find(upstream, { hasHealthPath: true })).toBeNull();
    await upstream.close();
    const closed = await serverThat(undefined, { status: 401 });
    expect(await find(closed, { hasHealthPath: true, key: 'k' })).toEqual(
      wrong('The server refused the upstream key (401).'),
    );
  });
});

describe('a server that does not answer', () => {
  it('or answers with a server error may just be starting', async () => {
    const loading = { status: 503, ...recorded(LLAMA_CPP.loading) };
    expect(await find(await serverThat(loading))).toEqual({ kind: 'no_answer', words: 'HTTP 503' });
  });

  it('in time is given up, even in the middle of an answer', async () => {
    server = await startUpstream(async (_request, reply) => {
      await reply.write('{"data":');
      await reply.closed;
    });
    expect(await find(server, { timeoutMs: 50 })).toEqual({ kind: 'no_answer', words: 'no answer in time' });
  });

  it('but switches to another protocol does not keep the probe waiting', async () => {
    const switching = createServer(({ socket }) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
    }).listen(0, '127.0.0.1');
    await once(switching, 'listening');
    const { port } = switching.address() as AddressInfo;
    const found = find({ url: `http://127.0.0.1:${port}` });
    expect(await found.finally(() => switching.close())).toEqual({
      kind: 'no_answer',
      words: 'not an HTTP answer',
    });
  });
});

it('an answer that many models share is read once', async () => {
  let reads = 0;
  const answer = {
    status: 200,
    contentType: 'application/json',
    get body() {
      reads++;
      return listing(['moon', 'tide']).body ?? '';
    },
  };
  const asked = (name: string) => {
    const server = { baseUrl: 'http://127.0.0.1:1/v1', key: '', name, nameAssumed: false, own: false };
    const get = async () => answer;
    return inspect({ ...server, timeoutMs: 5_000, get }, new AbortController().signal);
  };
  expect(await asked('tide')).toBeNull();
  const once = reads;
  expect(await asked('moon')).toBeNull();
  expect(await asked('sun')).toEqual(wrong("The server does not serve 'sun'. It serves moon, tide."));
  expect(reads).toBe(once);
});
