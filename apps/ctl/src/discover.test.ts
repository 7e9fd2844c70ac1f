import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { closeDb, createDb } from '@tidegate/db';
import { freePort, PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import { type Ended, ctl as runHere } from './testing/ctl.ts';

let postgres: TestPostgres;
let env: Record<string, string>;
let server: Server;
let port: number;
let answer: { readonly status: number; readonly body: object };

/** Runs with a llama.cpp that has two models. One does not report its context length. */
beforeEach(async () => {
  postgres = await testPostgres();
  env = {
    DATABASE_URL: postgres.url,
    LIMITER_ADDRESSES: '127.0.0.1:1',
    RUNNER_ADDRESS: '127.0.0.1:1',
    SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  };
  const entry = { object: 'model', owned_by: 'llamacpp' };
  const data = [
    { ...entry, id: 'small.gguf', meta: { n_ctx: 8_192 } },
    { ...entry, id: 'large.gguf' },
  ];
  answer = { status: 200, body: { object: 'list', data } };
  server = createServer((request, response) => {
    response.statusCode = request.url === '/v1/models' ? answer.status : 404;
    response.end(JSON.stringify(answer.body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await postgres.drop();
});

const ctl = (args: readonly string[], variables = env): Promise<Ended> => runHere(args, variables);
const discover = (...args: string[]) => ctl(['model', 'discover', '--ports', String(port), ...args]);

async function published(): Promise<object[]> {
  const db = createDb(postgres.url, PATIENT_DB);
  try {
    const select = { name: true, contextTokens: true, settings: true, upstreamModel: true, mode: true };
    return await db.model.findMany({ select, orderBy: { name: 'asc' } });
  } finally {
    await closeDb(db);
  }
}

describe('model discover', () => {
  it('shows servers and models without an installation, and publishes nothing by itself', async () => {
    const listed = await ctl(['model', 'discover', '--ports', String(port)], {});
    expect(listed).toMatchObject({ status: 0, err: '' });
    expect(listed.out).toMatch(/^Server +URL +Model +Name +Kind +Context\n/);
    expect(listed.out).toMatch(/\nllama\.cpp +http:\S+\/v1 +small\.gguf +small +text +8,192\n/);
    expect(listed.out).toMatch(/ large\.gguf +large +text +4,096 \(assumed\)\n/);
    expect(listed.out).toContain('(assumed): the server does not report its context length. If');
    const all = `\nPublish all of them: model discover --publish --ports ${port}\n`;
    expect(listed.out).toContain(all);
    const inOrg = await ctl(['model', 'discover', '--ports', String(port), '--org', 'acme'], {});
    expect(inOrg.out).toContain(all.replace('--ports', '--org acme --ports'));
    expect(await published()).toEqual([]);
  });

  it('publishes what it finds, leaves names that exist alone, and says which', async () => {
    await ctl(['org', 'create', '--name', 'Acme']);
    const where = { settings: { urls: [`http://127.0.0.1:${port}/v1`] }, mode: 'always_on' };
    const all = [
      { ...where, name: 'large', contextTokens: 4_096, upstreamModel: 'large.gguf' },
      { ...where, name: 'small', contextTokens: 8_192, upstreamModel: 'small.gguf' },
    ];
    const first = await discover('--publish', '--json');
    expect(first).toMatchObject({ status: 0, err: '' });
    const model = { kind: 'text', published: true };
    expect(JSON.parse(first.out)).toEqual([
      {
        server: 'llama.cpp',
        url: `http://127.0.0.1:${port}/v1`,
        needsKey: false,
        models: [
          {
            ...model,
            name: 'small',
            upstreamModel: 'small.gguf',
            contextTokens: 8_192,
            contextAssumed: false,
          },
          {
            ...model,
            name: 'large',
            upstreamModel: 'large.gguf',
            contextTokens: 4_096,
            contextAssumed: true,
          },
        ],
      },
    ]);
    expect(await published()).toEqual(all);
    const again = await discover('--publish', '--org', 'acme');
    expect(again.out).toMatch(/ 8,192 +no: It is already published as "small"\.\n/);
    expect(await published()).toEqual(all);
  });

  it('publishes nothing twice, under whatever name it is published, and says so when another model has the name', async () => {
    await ctl(['org', 'create', '--name', 'Acme']);
    const url = `http://127.0.0.1:${port}`;
    const publish = (...args: string[]) =>
      ctl(['model', 'publish', '--kind', 'text', '--mode', 'always_on', '--context', '1', ...args]);
    await publish('--name', 'own', '--upstream-model', 'small.gguf', '--url', url);
    await publish('--name', 'large', '--url', 'http://127.0.0.1:1');
    const before = await published();
    const { out } = await discover('--publish');
    expect(out).toMatch(/ small .* no: It is already published as "own"\.\n/);
    expect(out).toMatch(/ large .* no: A model "large" is already published\.\n/);
    expect(await published()).toEqual(before);
  });

  it('refuses an unknown organization once, and refuses invalid ports', async () => {
    expect(await discover('--publish', '--org', 'nobody')).toEqual({
      status: 1,
      out: '',
      err: 'There is no organization "nobody".\n',
    });
    const bad = await ctl(['model', 'discover', '--ports', '8080,x']);
    expect(bad).toMatchObject({ status: 1, err: expect.stringContaining('--ports must be ports') });
  });

  it('says that a server has no models, or that it asks for a key and how to give it one', async () => {
    const url = `http://127.0.0.1:${port}/v1`;
    answer = { status: 200, body: { object: 'list', data: [] } };
    expect((await discover()).out).toBe(`A model server at ${url} answers, but has no chat models yet.\n`);
    answer = { status: 401, body: { error: 'Unauthorized' } };
    const { out } = await discover();
    expect(out).toContain(`A server at ${url} asks for a key. Publish its models with it: model publish `);
    expect(out).toMatch(/ --url http:\S+\/v1 .*--upstream-key-stdin\n$/);
  });

  it('says where it looked when it finds nothing', async () => {
    const free = await freePort();
    const { status, out } = await ctl(['model', 'discover', '--ports', String(free)]);
    expect({ status, out }).toEqual({
      status: 0,
      out: `No model server on this machine answers at these ports: ${free}.\n`,
    });
    expect((await ctl(['model', 'discover', '--ports', String(free), '--json'])).out).toBe('[]\n');
  });
});
