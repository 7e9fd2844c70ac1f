import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort, LLAMA_CPP } from '@tidegate/testing';
import { discoverServers, publicationOf } from './discover.ts';
import { publishedNameOf } from './name.ts';

/** A server's answers: JSON by path, or by method, path and body. Anything else is 404. */
type Answers = Readonly<Record<string, unknown>>;

let servers: Server[] = [];
afterEach(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  servers = [];
});

async function listen(respond: (request: string, response: ServerResponse) => void): Promise<number> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    respond(
      request.method === 'GET' ? (request.url ?? '') : `${request.method} ${request.url} ${body}`,
      response,
    );
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Starts a server with these answers. Returns the requests it got. */
async function serving(answers: Answers): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const port = await listen((request, response) => {
    asked.push(request);
    response.statusCode = request in answers ? 200 : 404;
    response.end(JSON.stringify(answers[request] ?? { detail: 'Not Found' }));
  });
  return { port, asked };
}

async function discovered(answers: Answers) {
  const { port } = await serving(answers);
  const [found] = await discoverServers({ ports: [port], timeoutMs: 20_000 });
  expect(found?.url).toBe(`http://127.0.0.1:${port}/v1`);
  return found;
}

const list = (...data: object[]) => ({ object: 'list', data });

describe('a model server that runs here is found with its models:', () => {
  it('llama.cpp, with the context of one of its slots and not the one the model was trained with', async () => {
    const { models, props } = LLAMA_CPP;
    const found = await discovered({ '/v1/models': models, '/props': props });
    const model = { name: 'tiny', upstreamModel: 'tiny', kind: 'text', contextAssumed: false };
    expect(found).toMatchObject({
      server: 'llama.cpp',
      version: 'b11669-Debian',
      needsKey: false,
      models: [{ ...model, contextTokens: 256 }],
    });
    const seeing = { ...props, modalities: { ...props.modalities, vision: true } };
    const sees = await discovered({ '/v1/models': models, '/props': seeing });
    expect(sees?.models[0]).toMatchObject({ kind: 'vision', contextTokens: 256 });
  });

  it('llama.cpp that loads models when they are called, each with what its list says about it', async () => {
    const { models, props } = LLAMA_CPP.router;
    const found = await discovered({ '/v1/models': models, '/props': props });
    expect(found?.models).toMatchObject([
      { name: 'other', kind: 'text', contextTokens: 4_096, contextAssumed: true },
      { name: 'tiny', kind: 'text', contextTokens: 256, contextAssumed: false },
    ]);
    const [entry] = models.data;
    const architecture = { input_modalities: ['text', 'image'] };
    const sees = await discovered({ '/v1/models': list({ ...entry, architecture }), '/props': props });
    expect(sees?.models[0]?.kind).toBe('vision');
  });

  it('llama.cpp that does not reveal its settings, with the context of its list or an assumed one', async () => {
    const entry = (meta: object) => ({ id: 'qwen', object: 'model', owned_by: 'llamacpp', meta });
    const told = await discovered({ '/v1/models': list(entry({ n_ctx: 16_384, n_ctx_train: 32_768 })) });
    expect(told?.models[0]).toMatchObject({ contextTokens: 16_384, contextAssumed: false });
    const silent = await discovered({ '/v1/models': list(entry({ n_ctx_train: 32_768 })) });
    expect(silent?.models[0]).toMatchObject({ kind: 'text', contextTokens: 4_096, contextAssumed: true });
  });

  it("vLLM, its adapters with their model's context", async () => {
    const entry = { object: 'model', created: 1_763_700_000, owned_by: 'vllm', permission: [] };
    const base = 'meta-llama/Llama-3.1-8B-Instruct';
    const found = await discovered({
      '/v1/models': list(
        { ...entry, id: base, root: base, parent: null, max_model_len: 32_768 },
        { ...entry, id: 'sql-adapter', root: '/adapters/sql', parent: base, max_model_len: null },
      ),
      '/version': { version: '0.11.0' },
    });
    expect(found).toMatchObject({
      server: 'vLLM',
      version: '0.11.0',
      models: [
        { name: base, upstreamModel: base, contextTokens: 32_768, contextAssumed: false },
        { name: 'sql-adapter', contextTokens: 32_768, contextAssumed: false },
      ],
    });
  });

  it('SGLang, asked for its settings when its list does not give the context', async () => {
    const model = { id: 'Qwen/Qwen2.5-VL-7B-Instruct', object: 'model', owned_by: 'sglang' };
    const info = { model_path: model.id, is_generation: true, has_image_understanding: true };
    const found = await discovered({
      '/v1/models': list({ ...model, max_model_len: 128_000 }),
      '/model_info': info,
      '/server_info': { version: '0.5.9' },
    });
    expect(found).toMatchObject({
      server: 'SGLang',
      version: '0.5.9',
      models: [{ kind: 'vision', contextTokens: 128_000 }],
    });
    const older = await discovered({
      '/v1/models': list(model),
      '/get_model_info': { model_path: model.id, is_generation: true },
      '/get_server_info': { model_path: model.id, context_length: 16_384, tp_size: 1, version: '0.5.3' },
    });
    expect(older?.version).toBe('0.5.3');
    expect(older?.models[0]).toMatchObject({ kind: 'text', contextTokens: 16_384, contextAssumed: false });
  });

  it('Ollama, with the context of what is loaded, else of its own settings; no model for embeddings', async () => {
    const listed = (id: string) => ({ id, object: 'model', created: 1_763_700_000, owned_by: 'library' });
    const show = (model: string) => `POST /api/show ${JSON.stringify({ model })}`;
    const { port, asked } = await serving({
      '/v1/models': list(
        ...['gemma3:latest', 'qwen3:8b', 'mistral:7b', 'nomic-embed-text:latest'].map(listed),
      ),
      '/api/version': { version: '0.12.6' },
      '/api/ps': {
        models: [{ name: 'gemma3:latest', model: 'gemma3:latest', size: 1, context_length: 32_768 }],
      },
      [show('gemma3:latest')]: { capabilities: ['completion', 'vision'], parameters: 'temperature 1' },
      [show('qwen3:8b')]: {
        capabilities: ['completion', 'tools'],
        parameters: 'num_ctx                        8192\nstop                           "<|im_end|>"',
        model_info: { 'qwen3.context_length': 40_960 },
      },
      [show('nomic-embed-text:latest')]: { capabilities: ['embedding'] },
    });
    const [found] = await discoverServers({ ports: [port], timeoutMs: 20_000 });
    expect(found).toMatchObject({
      server: 'Ollama',
      version: '0.12.6',
      models: [
        { name: 'gemma3', upstreamModel: 'gemma3:latest', kind: 'vision', contextTokens: 32_768 },
        { name: 'qwen3:8b', upstreamModel: 'qwen3:8b', kind: 'text', contextTokens: 8_192 },
        { name: 'mistral:7b', contextTokens: 4_096, contextAssumed: true },
      ],
    });
    expect(found?.models).toHaveLength(3);
    // Each of these would load a model.
    expect(asked.filter((request) => /\/(generate|chat|embed|completions)/.test(request))).toEqual([]);
  });

  it('LM Studio, with the context of what is loaded; no model for embeddings', async () => {
    const listed = (id: string) => ({ id, object: 'model', owned_by: 'organization_owner' });
    const entry = { object: 'model', publisher: 'lmstudio-community', compatibility_type: 'gguf' };
    const found = await discovered({
      '/v1/models': list(...['qwen2-vl-7b-instruct', 'llama-3.2-1b', 'text-embedding-nomic'].map(listed)),
      '/api/v0/models': list(
        {
          ...entry,
          id: 'qwen2-vl-7b-instruct',
          type: 'vlm',
          state: 'loaded',
          max_context_length: 32_768,
          loaded_context_length: 16_384,
        },
        { ...entry, id: 'llama-3.2-1b', type: 'llm', state: 'not-loaded', max_context_length: 131_072 },
        {
          ...entry,
          id: 'text-embedding-nomic',
          type: 'embeddings',
          state: 'not-loaded',
          max_context_length: 2_048,
        },
      ),
    });
    expect(found).toMatchObject({
      server: 'LM Studio',
      models: [
        { name: 'qwen2-vl-7b-instruct', kind: 'vision', contextTokens: 16_384, contextAssumed: false },
        { name: 'llama-3.2-1b', kind: 'text', contextTokens: 4_096, contextAssumed: true },
      ],
    });
    expect(found?.models).toHaveLength(2);
  });

  it('any other that lists models as they do', async () => {
    const found = await discovered({ '/v1/models': list({ id: 'own', object: 'model' }) });
    expect(found).toMatchObject({
      server: 'A model server',
      models: [{ name: 'own', contextAssumed: true }],
    });
  });
});

describe('a model server that has nothing to publish is found and says why:', () => {
  it('Ollama, with nothing pulled or only with models for embeddings', async () => {
    const version = { '/api/version': { version: '0.12.6' } };
    const none = { server: 'Ollama', needsKey: false, models: [] };
    expect(await discovered({ ...version, '/v1/models': { object: 'list', data: null } })).toMatchObject(
      none,
    );
    expect(await discovered({ ...version, '/v1/models': list() })).toMatchObject(none);
    const embeds = await discovered({
      ...version,
      '/v1/models': list({ id: 'nomic-embed-text', owned_by: 'library' }),
      'POST /api/show {"model":"nomic-embed-text"}': { capabilities: ['embedding'] },
    });
    expect(embeds).toMatchObject(none);
  });

  it('vLLM and llama.cpp with a key, whether they list their models without it, as older ones do, or not', async () => {
    const models = list({ id: 'qwen', owned_by: 'llamacpp' });
    const refusing = (body: object, open: Answers = {}) =>
      listen((request, response) => {
        response.statusCode = request in open ? 200 : 401;
        response.end(JSON.stringify(open[request] ?? body));
      });
    const ports = [
      await refusing({ error: 'Unauthorized' }),
      await refusing(LLAMA_CPP.wrongKey),
      await refusing(LLAMA_CPP.wrongKey, { '/v1/models': models }),
    ];
    const found = await discoverServers({ ports, timeoutMs: 20_000 });
    expect(found).toEqual(
      ['A server', 'A server', 'llama.cpp'].map((server, i) => ({
        server,
        url: `http://127.0.0.1:${ports[i]}/v1`,
        needsKey: true,
        models: [],
      })),
    );
  });
});

describe('nothing is found', () => {
  const none = async (...ports: number[]) =>
    expect(await discoverServers({ ports, timeoutMs: 200 })).toEqual([]);

  it('where nothing listens, or something else does, such as a gateway of Tidegate', async () => {
    const page = await listen((_, response) => response.end('<html>hello</html>'));
    const error = { error: { message: 'no key', type: 'authentication_error', code: 'invalid_api_key' } };
    const gateway = await listen((_, response) => {
      response.statusCode = 401;
      response.end(JSON.stringify(error));
    });
    const odd = await serving({
      '/v1/models': { data: [null, 7, { id: 8 }, { id: '...' }, { id: 'a\u001b[2J' }] },
    });
    const elsewhere = await listen((_, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${odd.port}/v1/models` });
      response.end();
    });
    await none(await freePort(), page, gateway, odd.port, elsewhere);
  });

  it('where a server says nothing, or never ends its answer', async () => {
    const silent = await listen(() => {});
    const endless = await listen((_, response) => {
      const chunk = ' '.repeat(65_536);
      const more = () => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    await none(silent, endless);
    expect(await discoverServers({ ports: [endless], timeoutMs: 60_000 })).toEqual([]);
  });
});

it('a model that is found is published where it is, under a valid name', async () => {
  const found = await discovered({
    '/v1/models': list({ id: '/models/My Model (v2).gguf', owned_by: 'llamacpp' }),
  });
  const model = found?.models[0];
  if (!found || !model) throw new Error('nothing was found');
  expect(publicationOf(found, model)).toEqual({
    name: 'My-Model-v2',
    kind: 'text',
    mode: 'always_on',
    contextTokens: 4_096,
    urls: [found.url],
    upstreamModel: '/models/My Model (v2).gguf',
  });
});

it.each([
  ['gemma3:latest', 'gemma3'],
  ['hf.co/bartowski/Llama-3.2-1B-GGUF:Q4_K_M', 'hf.co/bartowski/Llama-3.2-1B-GGUF:Q4_K_M'],
  ['C:\\models\\phi 4.gguf', 'phi-4'],
  ['~/models/phi.gguf', 'phi'],
  ['модель', ''],
  ['_hidden', 'hidden'],
  ['x'.repeat(300), 'x'.repeat(128)],
])('%s is called %s', (upstream, name) => expect(publishedNameOf(upstream)).toBe(name));
