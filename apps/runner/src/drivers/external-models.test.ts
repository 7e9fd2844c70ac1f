import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { seal } from '@tidegate/contracts';
import { eventually, testPostgres } from '@tidegate/testing';
import { Harness } from '../testing/harness.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

/** A model server that someone else runs. */
class Upstream {
  status = 200;
  readonly requests: { readonly path: string | undefined; readonly authorization: string | undefined }[] = [];
  readonly #server: Server = createServer((request: IncomingMessage, response) => {
    this.requests.push({ path: request.url, authorization: request.headers.authorization });
    if (this.status === 0) response.destroy();
    else response.writeHead(this.status).end('{}');
  });

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    harness.onClose(() => this.#server.close());
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }
}

const upstream = (): Promise<Upstream> => new Upstream().listen();

const publish = (urls: string[], more: object = {}, settings: object = {}): Promise<string> =>
  harness.publish({ mode: 'always_on', driver: 'external', settings: { urls, ...settings }, ...more });

describe('a model that runs elsewhere', () => {
  it('runs with the replicas that answer, leaves one out while it fails, and takes it back', async () => {
    const [one, two] = [await upstream(), await upstream()];
    const modelId = await publish([one.url, two.url]);
    const watcher = (await harness.start()).watch('gw_1');
    const urls = () => watcher.models.get(modelId)?.replicas.map(({ baseUrl }) => baseUrl);
    await eventually(() => urls()?.length === 2);
    two.status = 503;
    await eventually(() => urls()?.length === 1);
    expect(urls()).toEqual([one.url]);
    expect(watcher.condition(modelId)).toBe('CONDITION_RUNNING');
    two.status = 200;
    await eventually(() => urls()?.length === 2);
  });

  it('is failed when none answers, says why without naming addresses, and runs as soon as one answers', async () => {
    const [one, two] = [await upstream(), await upstream()];
    one.status = 500;
    two.status = 0;
    const modelId = await publish([one.url, two.url]);
    const watcher = (await harness.start()).watch('gw_1');
    expect(watcher.condition(modelId)).not.toBe('CONDITION_RUNNING');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_FAILED');
    expect(watcher.models.get(modelId)).toMatchObject({
      reason: 'None of its 2 servers answers (HTTP 500, connection closed).',
      replicas: [],
    });
    one.status = 200;
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    one.status = 500;
    await eventually(() => watcher.condition(modelId) === 'CONDITION_FAILED');
  });

  it('is probed at /models with the upstream key; an answer below 500 is up', async () => {
    const one = await upstream();
    one.status = 401;
    const upstreamKey = Uint8Array.from(seal(harness.secretKey, 'sk-up'));
    const modelId = await publish([one.url], { upstreamKey, upstreamModel: 'llama' });
    const watcher = (await harness.start()).watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    expect(one.requests[0]).toEqual({ path: '/v1/models', authorization: 'Bearer sk-up' });
    expect(watcher.models.get(modelId)).toMatchObject({ upstreamKey: 'sk-up', upstreamModel: 'llama' });
  });

  it('is probed at its health path instead, from the root of its server', async () => {
    const one = await upstream();
    await publish([one.url], {}, { healthPath: '/healthz' });
    await harness.start();
    expect((await eventually(() => one.requests[0])).path).toBe('/healthz');
  });

  it('that ran stays running, without a break, over a restart of the runner', async () => {
    const one = await upstream();
    const modelId = await publish([one.url], { condition: 'running' });
    const watcher = (await harness.start()).watch('gw_1');
    await eventually(() => watcher.models.get(modelId));
    await eventually(() => one.requests.length > 2);
    const conditions = watcher.updates.flatMap(({ models }) => models.map(({ condition }) => condition));
    expect(new Set(conditions)).toEqual(new Set(['CONDITION_RUNNING']));
  });

  it('is stopped and started by its owner', async () => {
    const one = await upstream();
    const modelId = await publish([one.url]);
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    await runner.stopModel(modelId);
    await eventually(() => watcher.condition(modelId) === 'CONDITION_STOPPED');
    await runner.startModel(modelId);
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
  });
});
