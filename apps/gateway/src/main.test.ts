import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { getPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newApiKey } from '@tidegate/contracts';
import { eventually, freePort, startUpstream, type Upstream, type UpstreamHandler } from '@tidegate/testing';
import { FakeLimiter } from './testing/fake-limiter.ts';
import { FakeRunner } from './testing/fake-runner.ts';
import { wholeAnswer } from './testing/harness.ts';

/* Runs the built gateway as a real process. */

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

const orgId = 'org_abcdefghijkl';
const key = newApiKey('abcdefghijkl');
let script: UpstreamHandler;
let limiter: FakeLimiter;
let runner: FakeRunner;
let model: Upstream;
const children: ChildProcess[] = [];

/** When this process stands still, the services that it fakes must not look hung to the gateway. */
const PATIENT = {
  LIMITER_CALL_TIMEOUT_MS: '60000',
  LIMITER_SILENCE_MS: '60000',
  SETTLE_WAIT_MS: '60000',
  UPSTREAM_CONNECT_TIMEOUT_MS: '60000',
  // A lease ends after 7.5 s without an answer.
  HEARTBEAT_MS: '100',
};

beforeAll(async () => {
  limiter = await new FakeLimiter().start();
  runner = await new FakeRunner().start();
  model = await startUpstream((request, reply) => script(request, reply));
  limiter.principals.set(key.hash.toString('hex'), { orgId, keyId: 'key_1', allModels: true });
  runner.update({
    modelId: 'mdl_1',
    orgId,
    name: 'text',
    kind: 'text',
    mode: 'always_on',
    contextTokens: 4_096,
    condition: 'CONDITION_RUNNING',
    replicas: [{ replicaId: 'r1', baseUrl: `${model.url}/v1` }],
  });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  limiter.stop();
  runner.stop();
  await model.close();
});

function run(env: Record<string, string>) {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes) => {
      output += bytes;
    });
  }
  const exit = once(child, 'close').then(([code]) => ({ code, output }));
  return { child, exit };
}

async function start(change: Record<string, string> = {}) {
  const [port, adminPort] = [await freePort(), await freePort()];
  const gateway = run({
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: String(port),
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: String(adminPort),
    LIMITER_ADDRESSES: limiter.address,
    RUNNER_ADDRESS: runner.address,
    ...PATIENT,
    ...change,
  });
  const admin = (path: string) => fetch(`http://127.0.0.1:${adminPort}${path}`);
  const complete = (stream: boolean, name = 'text') =>
    fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.value}` },
      body: JSON.stringify({ model: name, messages: [{ role: 'user', content: 'Hi' }], stream }),
    });
  const stream = () => complete(true);
  const whole = () => complete(false);
  const refused = () => complete(false, 'unknown');
  await eventually(() => admin('/healthz').then(({ ok }) => ok));
  /** Whether connections are refused. */
  const refuses = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => false,
      () => true,
    );
  /** The status of a request on a connection of its own. */
  const statusOnNewConnection = async () => {
    const headers = { authorization: `Bearer ${key.value}` };
    const request = get(`http://127.0.0.1:${port}/v1/models`, { agent: false, headers });
    const [response] = await once(request, 'response');
    response.resume();
    return response.statusCode;
  };
  return { ...gateway, admin, stream, whole, refused, refuses, statusOnNewConnection };
}

const piece = (content: string, finish_reason: string | null = null) => ({
  choices: [{ delta: { content }, finish_reason }],
});

describe('the gateway process', () => {
  it('finishes running requests on SIGTERM, settles them, reports those it refused, and exits 0', async () => {
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    script = async (_request, reply) => {
      await reply.event(piece('a'));
      await finished;
      await reply.event(piece('b', 'stop'));
      await reply.done();
    };
    const { child, exit, admin, stream, refused, refuses } = await start();
    await eventually(() => admin('/readyz').then(({ ok }) => ok));
    const response = await stream();
    expect(response.status).toBe(200);
    expect((await refused()).status).toBe(404);
    child.kill('SIGTERM');
    await eventually(() => refuses());
    expect((await admin('/readyz')).status).toBe(503);
    finish();
    expect(await response.text()).toContain('[DONE]');
    const { code, output } = await exit;
    expect(code).toBe(0);
    expect(limiter.of('settle').map(({ settle }) => settle?.answered)).toEqual([true]);
    const reported = () =>
      limiter.of('reportRefusals').flatMap(({ reportRefusals }) => reportRefusals?.counts);
    await eventually(() => reported().length > 0);
    expect(reported()).toMatchObject([{ code: 'model_not_found', refusals: 1 }]);
    expect(output).not.toContain(key.value);
  });

  it("gives CPU cores to its main thread before V8's helper threads", async () => {
    const { pid } = (await start()).child;
    const tasks = `/proc/${pid}/task`;
    const nicenessOf = (id: string) =>
      Number(readFileSync(`${tasks}/${id}/stat`, 'utf8').split(') ')[1]?.split(' ')[16]);
    const others = readdirSync(tasks).filter((id) => id !== String(pid));
    expect(nicenessOf(String(pid))).toBe(getPriority());
    expect(others.filter((id) => nicenessOf(id) === 10).length).toBeGreaterThanOrEqual(4);
  });

  it('reports not ready first on SIGTERM, serves for its delay but keeps no connection, and drains on a second signal', async () => {
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let hold = false;
    script = async (_request, reply) => {
      if (hold) await finished;
      reply.json(wholeAnswer());
    };
    const { child, exit, admin, whole, refuses, statusOnNewConnection } = await start({
      SHUTDOWN_DELAY_MS: '3600000',
    });
    await eventually(() => admin('/readyz').then(({ ok }) => ok));
    child.kill('SIGTERM');
    await eventually(() => admin('/readyz').then(({ status }) => status === 503));
    for (let i = 0; i < 3; i++) {
      const response = await whole();
      expect(response.status).toBe(200);
      expect(response.headers.get('connection')).toBe('close');
      await response.text();
    }
    expect(await statusOnNewConnection()).toBe(200);
    hold = true;
    const last = whole();
    await eventually(() => model.inFlight === 1);
    await eventually(() => {
      child.kill('SIGTERM');
      return refuses();
    });
    finish();
    const response = await last;
    expect(response.headers.get('connection')).toBe('close');
    expect(response.status).toBe(200);
    expect((await exit).code).toBe(0);
  });

  it('ends requests that outlast the shutdown timeout, as errors', async () => {
    limiter.calls.length = 0;
    script = async (_request, reply) => {
      await reply.event(piece('a'));
      await reply.closed;
    };
    const { child, exit, admin, stream } = await start({ SHUTDOWN_TIMEOUT_MS: '200' });
    await eventually(() => admin('/readyz').then(({ ok }) => ok));
    const response = await stream();
    child.kill('SIGTERM');
    await expect(response.text()).rejects.toThrow('terminated');
    expect((await exit).code).toBe(0);
    await eventually(() => limiter.of('settle').length > 0);
    expect(limiter.of('settle').map(({ settle }) => settle?.errorCode)).toEqual(['shutdown']);
  });

  it('answers the first request that its port takes', async () => {
    limiter.delayMs = 300;
    try {
      const { refuses, statusOnNewConnection } = await start();
      await eventually(async () => !(await refuses()));
      expect(await statusOnNewConnection()).toBe(200);
    } finally {
      limiter.delayMs = 0;
    }
  });

  it('is alive but not ready without a limiter, fails closed, and has metrics', async () => {
    const { admin, refuses, stream } = await start({ LIMITER_ADDRESSES: '127.0.0.1:1' });
    await eventually(async () => !(await refuses()));
    const readiness = await admin('/readyz');
    expect([readiness.status, await readiness.text()]).toEqual([
      503,
      'not ready: no session with a limiter in LIMITER_ADDRESSES\n',
    ]);
    const response = await stream();
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { code: 'internal_error' } });
    const counted = /tidegate_gateway_requests_total\{.*status="500",code="internal_error".*\} 1/;
    const metrics = await eventually(async () => {
      const text = await (await admin('/metrics')).text();
      return counted.test(text) && text;
    });
    expect(metrics).toMatch(/tidegate_gateway_limiter_ready\{.*\} 0/);
  });

  it('says which variables are wrong, and exits 1', async () => {
    const { code, output } = await run({ LIMITER_ADDRESSES: 'nowhere', TRUSTED_PROXIES: '-1' }).exit;
    expect(code).toBe(1);
    for (const name of ['LIMITER_ADDRESSES', 'RUNNER_ADDRESS', 'TRUSTED_PROXIES'])
      expect(output).toContain(name);
  });
});
