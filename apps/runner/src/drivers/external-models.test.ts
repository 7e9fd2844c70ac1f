import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { seal } from '@tidegate/contracts';
import { createMetrics } from '@tidegate/runtime';
import { eventually, testPostgres } from '@tidegate/testing';
import { Harness } from '../testing/harness.ts';
import { FAST } from '../testing/timings.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

/** A model server that someone else runs. */
class Upstream {
  status = 200;
  body = '{}';
  /** Statuses of single paths. */
  readonly at: Record<string, number> = {};
  readonly requests: { readonly path: string | undefined; readonly authorization: string | undefined }[] = [];
  readonly #server: Server = createServer((request: IncomingMessage, response) => {
    this.requests.push({ path: request.url, authorization: request.headers.authorization });
    const status = this.at[request.url ?? ''] ?? this.status;
    if (status === 0) response.destroy();
    else response.writeHead(status).end(this.body);
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

/** Gives servers as long as they need for their first answers. */
const UNHURRIED = { drivers: { ...FAST.drivers, remoteGraceMs: 3_600_000 } };

const upstream = (): Promise<Upstream> => new Upstream().listen();

const publish = (urls: string[], more: object = {}, settings: object = {}): Promise<string> =>
  harness.publish({ mode: 'always_on', driver: 'external', settings: { urls, ...settings }, ...more });

describe('a model on a remote server', () => {
  it('runs with the replicas that answer, ejects one while it fails, and takes it back', async () => {
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

  it('shows in the metrics how many of its replicas can be called, and how many it has in all', async () => {
    const [one, two] = [await upstream(), await upstream()];
    two.status = 503;
    const modelId = await publish([one.url, two.url]);
    const metrics = createMetrics('runner');
    const runner = await harness.start({ metrics });
    const watcher = runner.watch('gw_1');
    const counts = async () => {
      const names = ['tidegate_runner_model_replicas', 'tidegate_runner_model_replicas_all'];
      const read = await Promise.all(names.map((name) => metrics.getSingleMetric(name)?.get()));
      return read.map((metric) => metric?.values[0]?.value);
    };
    await eventually(() => watcher.models.get(modelId)?.replicas.length === 1);
    expect(await counts()).toEqual([1, 2]);
    await runner.stopModel(modelId);
    expect(await counts()).toEqual([0, 0]);
  });

  it('fails with a reason when no replica answers, and runs as soon as one answers', async () => {
    const [one, two] = [await upstream(), await upstream()];
    one.status = 500;
    two.status = 0;
    const modelId = await publish([one.url, two.url]);
    const watcher = (await harness.start()).watch('gw_1');
    expect(watcher.condition(modelId)).not.toBe('CONDITION_RUNNING');
    const reason = 'None of its 2 servers answers (HTTP 500, connection closed).';
    await eventually(() => watcher.condition(modelId) === 'CONDITION_FAILED');
    expect(watcher.models.get(modelId)).toMatchObject({ reason, replicas: [] });
    one.status = 200;
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    one.status = 500;
    await eventually(() => watcher.condition(modelId) === 'CONDITION_FAILED');
  });

  it('says while it starts what its server lacks, and stays in that start until the server answers', async () => {
    const one = await upstream();
    one.status = 500;
    const modelId = await publish([one.url]);
    const watcher = (await harness.start({ timings: UNHURRIED })).watch('gw_1');
    const reason = 'Its server does not answer (HTTP 500).';
    await eventually(() => watcher.models.get(modelId)?.reason === reason);
    expect(watcher.condition(modelId)).toBe('CONDITION_STARTING');
    one.status = 200;
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    expect(watcher.models.get(modelId)?.reason).toBe('');
  });

  it('is probed at /models with the upstream key', async () => {
    const one = await upstream();
    const upstreamKey = Uint8Array.from(seal(harness.secretKey, 'sk-up'));
    const modelId = await publish([one.url], { upstreamKey, upstreamModel: 'llama' });
    const watcher = (await harness.start()).watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    expect(one.requests[0]).toEqual({ path: '/v1/models', authorization: 'Bearer sk-up' });
    expect(watcher.models.get(modelId)).toMatchObject({ upstreamKey: 'sk-up', upstreamModel: 'llama' });
  });

  it('is probed together with the other models of its server', async () => {
    const one = await upstream();
    const modelIds = await Promise.all(Array.from({ length: 10 }, () => publish([one.url])));
    const timings = { drivers: { ...FAST.drivers, probeMs: 3_600_000 } };
    const watcher = (await harness.start({ timings })).watch('gw_1');
    await eventually(() => modelIds.every((id) => watcher.condition(id) === 'CONDITION_RUNNING'));
    expect(one.requests.map(({ path }) => path)).toEqual(['/v1/models', '/v1/chat/completions']);
  });

  it('fails immediately, with the reason, when calls cannot work, and runs once they can', async () => {
    const one = await upstream();
    one.status = 401;
    const modelId = await publish([one.url], { upstreamModel: 'llama' });
    const watcher = (await harness.start({ timings: UNHURRIED })).watch('gw_1');
    const failedWith = (reason: string) => eventually(() => watcher.models.get(modelId)?.reason === reason);
    await failedWith('The server asks for an upstream key (401), and the model has none.');
    expect(watcher.models.get(modelId)).toMatchObject({ condition: 'CONDITION_FAILED', replicas: [] });
    one.status = 404;
    await failedWith(`No chat completions API at ${one.url}: /models answered 404.`);
    one.status = 200;
    one.body = '{"object":"list","data":[{"id":"moon"}]}';
    const reason = "The server does not serve 'llama'. It serves moon.";
    await failedWith(reason);
    const { condition } = await eventually(async () => {
      const stored = await harness.db.model.findUniqueOrThrow({ where: { id: modelId } });
      return stored.conditionReason === reason && stored;
    });
    expect(condition).toBe('failed');
    one.body = '{"object":"list","data":[{"id":"moon"},{"id":"llama"}]}';
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
  });

  it('fails when its server no longer serves it, even if that was the published name', async () => {
    const one = await upstream();
    const modelId = await publish([one.url]);
    one.body = JSON.stringify({ data: [{ id: modelId }] });
    const watcher = (await harness.start()).watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    one.body = '{"data":[{"id":"moon"}]}';
    await eventually(() => watcher.condition(modelId) === 'CONDITION_FAILED');
    expect(watcher.models.get(modelId)?.reason).toBe(
      `The server does not serve '${modelId}'. It serves moon.`,
    );
  });

  it('without a usable replica says what is wrong with each of them', async () => {
    const [one, two, three] = [await upstream(), await upstream(), await upstream()];
    one.status = 403;
    two.status = 0;
    three.body = '{"data":[{"id":"moon"}]}';
    const modelId = await publish([one.url, two.url, three.url], { upstreamModel: 'llama' });
    const watcher = (await harness.start()).watch('gw_1');
    const reason =
      'None of its 3 servers can be called. The server asks for an upstream key (403), and the model has none. ' +
      "The server does not serve 'llama'. It serves moon. Others do not answer (connection closed).";
    await eventually(() => watcher.condition(modelId) === 'CONDITION_FAILED');
    expect(watcher.models.get(modelId)?.reason).toBe(reason);
  });

  it('with one misconfigured replica runs on the other, and the log says once which is wrong and why', async () => {
    const [one, two] = [await upstream(), await upstream()];
    one.status = 401;
    const modelId = await publish([one.url, two.url]);
    const lines: { msg: string; modelId?: string; replica?: string; reason?: string }[] = [];
    const runner = await harness.start({ logTo: (line) => lines.push(JSON.parse(line)) });
    const watcher = runner.watch('gw_1');
    const told = () =>
      lines
        .filter(({ msg }) => msg.startsWith('a replica can'))
        .map(({ msg, modelId: model, replica, reason }) => [model, replica, reason ?? msg]);
    const asked = 'The server asks for an upstream key (401), and the model has none.';
    const expected = [[modelId, one.url, asked]];
    await eventually(() => told().length > 0 && watcher.condition(modelId) === 'CONDITION_RUNNING');
    const probes = one.requests.length;
    await eventually(() => one.requests.length > probes + 3);
    expect(told()).toEqual(expected);
    one.status = 404;
    await eventually(() => told().length > 1);
    expected.push([modelId, one.url, `No chat completions API at ${one.url}: /models answered 404.`]);
    one.status = 200;
    await eventually(() => told().length > 2);
    expected.push([modelId, one.url, 'a replica can be called again']);
    expect(told()).toEqual(expected);
    expect(watcher.condition(modelId)).toBe('CONDITION_RUNNING');
  });

  it('is probed less and less often while it fails', async () => {
    const one = await upstream();
    one.status = 503;
    await publish([one.url]);
    const drivers = { ...FAST.drivers, remoteGraceMs: 1, retryProbeMs: 1, maxRetryProbeMs: 3_600_000 };
    await harness.start({ timings: { drivers } });
    await eventually(() => one.requests.length > 3);
    await harness.elapse(300);
    expect(one.requests.length).toBeLessThan(15);
  });

  it.each([401, 403, 404])(
    'fails when its health path answers %i, and runs when it does not',
    async (status) => {
      const one = await upstream();
      one.status = status;
      const modelId = await publish([one.url], {}, { healthPath: '/healthz' });
      const watcher = (await harness.start({ timings: UNHURRIED })).watch('gw_1');
      await eventually(() => watcher.condition(modelId) === 'CONDITION_FAILED');
      expect(watcher.models.get(modelId)?.reason).toBe(
        status === 404
          ? 'There is nothing at the health path /healthz (404).'
          : `The server asks for an upstream key at the health path /healthz (${status}), and the model has none.`,
      );
      one.status = 204;
      await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    },
  );

  it("is probed at its health path, if given, from its server's root", async () => {
    const one = await upstream();
    await publish([one.url], {}, { healthPath: '/healthz' });
    await harness.start();
    expect((await eventually(() => one.requests[0])).path).toBe('/healthz');
  });

  it('with a health path still fails when the list of models refuses the key, but runs without that list or without its name in it', async () => {
    const one = await upstream();
    one.at['/v1/models'] = 401;
    const upstreamKey = Uint8Array.from(seal(harness.secretKey, 'sk-up'));
    const modelId = await publish([one.url], { upstreamKey }, { healthPath: '/healthz' });
    const watcher = (await harness.start({ timings: UNHURRIED })).watch('gw_1');
    const failed = () => eventually(() => watcher.condition(modelId) === 'CONDITION_FAILED');
    const runs = () => eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    await failed();
    expect(watcher.models.get(modelId)?.reason).toBe('The server refused the upstream key (401).');
    Object.assign(one.at, { '/v1/models': 404, '/v1/chat/completions': 404 });
    await runs();
    one.at['/v1/chat/completions'] = 401;
    await failed();
    Object.assign(one.at, { '/v1/models': 200, '/v1/chat/completions': 405 });
    one.body = '{"data":[{"id":"moon"}]}';
    await runs();
    one.at['/v1/models'] = 0;
    const before = one.requests.length;
    await eventually(() => one.requests.length > before + 6);
    expect(watcher.condition(modelId)).toBe('CONDITION_RUNNING');
  });

  it('stays running, without a gap, across a restart of the runner', async () => {
    const one = await upstream();
    const modelId = await publish([one.url], { condition: 'running' });
    const watcher = (await harness.start()).watch('gw_1');
    await eventually(() => watcher.models.get(modelId));
    await eventually(() => one.requests.length > 2);
    const conditions = watcher.updates.flatMap(({ models }) => models.map(({ condition }) => condition));
    expect(new Set(conditions)).toEqual(new Set(['CONDITION_RUNNING']));
  });

  it('can be stopped and started by its owner', async () => {
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
