import { afterEach, describe, expect, it } from '@jest/globals';
import { startUpstream, type Upstream } from '@tidegate/testing';
import { type CheckedServer, checkServer } from './check.ts';

let server: Upstream | undefined;
afterEach(() => server?.close());

/** What a vLLM server with one model answers, behind a proxy's path, to a caller with the key. */
const ANSWERS: Readonly<Record<string, object>> = {
  '/gpu/v1/models': {
    object: 'list',
    data: [{ id: 'tide', object: 'model', owned_by: 'vllm', max_model_len: 32_768 }],
  },
  '/gpu/version': { version: '0.11.0' },
};

async function check(more: Partial<CheckedServer> = {}, path = '/gpu/v1') {
  server ??= await startUpstream(async ({ path: asked, headers }, reply) => {
    const closed = headers.authorization !== 'Bearer sk-up';
    const answer = closed ? { error: 'Unauthorized' } : ANSWERS[asked];
    reply.start({
      status: closed ? 401 : answer ? 200 : 404,
      headers: { 'content-type': 'application/json' },
    });
    await reply.write(JSON.stringify(answer ?? {}));
    reply.end();
  });
  const baseUrl = server.url + path;
  const asked = {
    baseUrl,
    name: 'tide',
    nameAssumed: false,
    key: 'sk-up',
    healthPath: '',
    timeoutMs: 10_000,
    ...more,
  };
  return checkServer(asked, new AbortController().signal);
}
afterEach(() => {
  server = undefined;
});

describe('a check of a server', () => {
  it('finds what it is and what it serves, with the key, and completes nothing', async () => {
    expect(await check()).toEqual({
      problem: '',
      described: {
        server: 'vLLM',
        version: '0.11.0',
        needsKey: false,
        models: [{ id: 'tide', contextTokens: 32_768, vision: false, chats: true }],
      },
    });
    expect((await check({ name: '' })).problem).toBe('');
    expect(new Set(server?.requests.map(({ method, path }) => `${method} ${path}`))).toEqual(
      new Set(['GET /gpu/v1/models', 'GET /gpu/v1/chat/completions', 'GET /gpu/version']),
    );
  });

  it.each([
    ['a wrong key', { key: 'sk-no' }, '/gpu/v1', 'The server refused the upstream key (401).'],
    ['no key', { key: '' }, '/gpu/v1', 'The server asks for an upstream key (401), and the model has none.'],
    ['a wrong name', { name: 'moon' }, '/gpu/v1', "The server does not serve 'moon'. It serves tide."],
    [
      'a wrong health path',
      { healthPath: '/up' },
      '/gpu/v1',
      'There is nothing at the health path /up (404).',
    ],
    ['a health path, whatever is listed', { healthPath: '/gpu/version', name: 'moon' }, '/gpu/v1', ''],
    [
      'a wrong path beside a health path',
      { healthPath: '/gpu/version' },
      '/v1',
      /^No chat completions API at .*: \/models answered 404\.$/,
    ],
    ['a wrong path', {}, '/v1', /^No chat completions API at .*: \/models answered 404\.$/],
  ])('reports any problem that a published model would have: %s', async (_what, more, path, problem) => {
    expect((await check(more, path)).problem).toEqual(
      typeof problem === 'string' ? problem : expect.stringMatching(problem),
    );
  });

  it('says so when the server does not answer', async () => {
    expect(await check({ baseUrl: 'http://127.0.0.1:1/v1' })).toEqual({
      problem: 'Its server does not answer (connection refused).',
      described: undefined,
    });
  });

  it.each(['/', '\\'])(
    'does not send the key to a host that the health path names after /%s',
    async (separator) => {
      const asked: string[] = [];
      const other = await startUpstream(({ path }, reply) => {
        asked.push(path);
        return reply.json({});
      });
      try {
        await check({ healthPath: `/${separator}${new URL(other.url).host}/up` });
        expect(asked).toEqual([]);
      } finally {
        await other.close();
      }
    },
  );
});
