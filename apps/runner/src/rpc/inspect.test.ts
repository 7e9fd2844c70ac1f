import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newModelId, seal } from '@tidegate/contracts';
import { callUnary, type InspectRequest } from '@tidegate/rpc';
import { eventually, startUpstream, testPostgres } from '@tidegate/testing';
import { Harness } from '../testing/harness.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

/** A server that records the keys that it receives. */
async function startRecordingServer() {
  const keys = new Set<string | undefined>();
  const server = await startUpstream(async ({ headers }, reply) => {
    keys.add(headers.authorization);
    reply.start({ status: 200, headers: { 'content-type': 'application/json' } });
    await reply.write('{"data":[{"id":"tide"}]}');
    reply.end();
  });
  harness.onClose(() => server.close());
  return { baseUrl: `${server.url}/v1`, keys };
}

const publish = (key: Uint8Array | null, more: object = {}): Promise<string> =>
  harness.publish({
    mode: 'always_on',
    driver: 'external',
    settings: { urls: ['http://127.0.0.1:9/v1'] },
    upstreamKey: key && Uint8Array.from(key),
    ...more,
  });

describe('a check of servers for a published model', () => {
  const inspect = async (request: InspectRequest) => {
    const { client } = await harness.start();
    return callUnary(client, 'inspect', { upstreamModel: 'tide', ...request }, { deadlineMs: 60_000 });
  };

  it('asks with the upstream key of the model, even if the model is in another pool', async () => {
    const { baseUrl, keys } = await startRecordingServer();
    const upstreamKeyOf = await publish(seal(harness.secretKey, 'sk-kept'), { pool: 'gpu0' });
    expect(await inspect({ baseUrl, upstreamKeyOf })).toMatchObject({
      problem: '',
      models: [{ name: 'tide' }],
    });
    expect([...keys]).toEqual(['Bearer sk-kept']);
  });

  it('asks at the health path that is given', async () => {
    const { baseUrl } = await startRecordingServer();
    // The server answers everything, and lists another name.
    const asked = { baseUrl, upstreamModel: 'moon', healthPath: '/up' };
    expect(await inspect(asked)).toMatchObject({ problem: '' });
  });

  it('asks without a key if the model has none', async () => {
    const { baseUrl, keys } = await startRecordingServer();
    expect(await inspect({ baseUrl, upstreamKeyOf: await publish(null) })).toMatchObject({ problem: '' });
    expect([...keys]).toEqual([undefined]);
  });

  it('asks no server if the key cannot be unsealed, or the model is not published', async () => {
    const { baseUrl, keys } = await startRecordingServer();
    const lost = await publish(seal(Buffer.alloc(32, 9), 'sk-lost'));
    expect((await inspect({ baseUrl, upstreamKeyOf: lost })).problem).toMatch(/key cannot be unsealed/);
    const { client } = await harness.start({ pool: 'other' });
    const unknown = { baseUrl, upstreamKeyOf: newModelId() };
    await expect(callUnary(client, 'inspect', unknown, { deadlineMs: 60_000 })).rejects.toMatchObject({
      code: status.NOT_FOUND,
    });
    expect(keys.size).toBe(0);
  });

  it('answers UNAVAILABLE and logs the error if Postgres does not give the key', async () => {
    const logs: string[] = [];
    const { client } = await harness.start({ logTo: (line) => logs.push(line) });
    const upstreamKeyOf = await publish(seal(harness.secretKey, 'sk-kept'));
    await harness.db.$executeRaw`ALTER TABLE model RENAME TO lost`;
    const asked = { baseUrl: 'http://127.0.0.1:9/v1', upstreamKeyOf };
    await expect(callUnary(client, 'inspect', asked, { deadlineMs: 60_000 })).rejects.toMatchObject({
      code: status.UNAVAILABLE,
    });
    expect(logs.filter((line) => line.includes('"a call failed"'))).toHaveLength(1);
  });

  it('has room for a test of 64 servers for one organization, and for others meanwhile', async () => {
    const { baseUrl } = await startRecordingServer();
    let asked = 0;
    const silent = await startUpstream((_request, reply) => {
      asked++;
      return reply.closed;
    });
    harness.onClose(() => silent.close());
    const { client } = await harness.start();
    const leave = new AbortController();
    const test = (orgId: string, url = baseUrl, signal?: AbortSignal) => {
      const options = { deadlineMs: 60_000, ...(signal && { signal }) };
      return callUnary(client, 'inspect', { orgId, baseUrl: url, upstreamModel: 'tide' }, options);
    };
    const tests = Array.from({ length: 64 }, () => test('org_a', `${silent.url}/v1`, leave.signal));
    const ended = Promise.allSettled(tests);
    await eventually(() => asked === 64);
    await expect(test('org_a')).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    expect(await test('org_b')).toMatchObject({ problem: '' });
    leave.abort();
    await ended;
    await eventually(async () => (await test('org_a')).problem === '');
  });
});
