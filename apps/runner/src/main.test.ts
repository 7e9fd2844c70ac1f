import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, freePort, isPidAlive, itAsRoot, testPostgres } from '@tidegate/testing';
import { Harness } from './testing/harness.ts';
import { SNOOPER } from './testing/snooper.ts';

/*
 * Runs the built runner as a process. It is killed and started again while models keep running.
 */

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
let harness: Harness;
const processes = new Set<ChildProcess>();

beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(async () => {
  for (const child of processes) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  processes.clear();
  await harness.close();
});

interface Run {
  readonly child: ChildProcess;
  readonly port: number;
  readonly admin: string;
  ended(): Promise<number | null>;
}

async function run(env: Record<string, string> = {}): Promise<Run> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [MAIN], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: '/usr/bin:/bin',
      CUDA_VISIBLE_DEVICES: '0',
      RUNNER_PORT: String(port),
      ADMIN_PORT: String(adminPort),
      DATABASE_URL: harness.url,
      RUNNER_STATE_DIR: harness.stateDir,
      SECRET_KEY: harness.secretKey.toString('base64'),
      SERVICE_TOKENS: `gateway:${harness.gatewayToken}`,
      LOG_LEVEL: 'warn',
      ...env,
    },
  });
  processes.add(child);
  const exit = once(child, 'exit');
  const admin = `http://127.0.0.1:${adminPort}`;
  return { child, port, admin, ended: async () => (await exit)[0] as number | null };
}

const ready = ({ admin }: Run) => eventually(async () => (await fetch(`${admin}/readyz`)).status === 200);

describe('a runner that is killed', () => {
  it('leaves its models serving, and the next one adopts them without a restart or a gap in the catalog', async () => {
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    const first = await run();
    await ready(first);
    const client = harness.connect(first.port);
    await client.wake(model.modelId);
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: model.modelId } });
    const ranSince = await eventually(async () => {
      const { condition, conditionAt } = await row();
      return condition === 'running' && conditionAt;
    });
    const [{ pid } = { pid: 0 }] = model.starts();
    const replicas = client.watch('gw_1');
    await eventually(() => replicas.models.get(model.modelId)?.replicas.length);

    first.child.kill('SIGKILL');
    await first.ended();
    expect(isPidAlive(pid)).toBe(true);

    const second = await run();
    await ready(second);
    const watcher = harness.connect(second.port).watch('gw_1');
    await eventually(() => watcher.models.get(model.modelId));
    expect(watcher.updates[0]?.models[0]).toMatchObject({
      condition: 'CONDITION_RUNNING',
      replicas: replicas.models.get(model.modelId)?.replicas,
    });
    expect(model.starts()).toHaveLength(1);
    expect((await row()).conditionAt).toEqual(ranSince);

    process.kill(pid, 'SIGKILL');
    await eventually(() => model.starts().length === 2);
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_RUNNING');
  });

  it('in the middle of a start is followed by one that completes the same start', async () => {
    const model = await harness.publishProcess({ delayMs: 2_500 }, { mode: 'always_on' });
    const first = await run();
    await eventually(() => model.starts()[0]);
    first.child.kill('SIGKILL');
    await first.ended();
    const second = await run();
    await ready(second);
    const woken = await harness.connect(second.port).wake(model.modelId);
    expect(woken.condition).toBe('CONDITION_RUNNING');
    expect(model.starts()).toHaveLength(1);
  });

  it('is followed by one that ends models that were stopped or deleted meanwhile, and orphaned children', async () => {
    const stopped = await harness.publishProcess();
    const deleted = await harness.publishProcess();
    const orphaned = await harness.publishProcess({ how: 'parent' });
    const first = await run();
    await ready(first);
    const client = harness.connect(first.port);
    for (const { modelId } of [stopped, deleted, orphaned]) await client.wake(modelId);
    const pids = [stopped, deleted, orphaned].flatMap((model) => model.starts().map(({ pid }) => pid));
    first.child.kill('SIGKILL');
    await first.ended();
    const { db } = harness;
    await db.model.update({ where: { id: stopped.modelId }, data: { condition: 'stopped' } });
    await db.model.update({ where: { id: deleted.modelId }, data: { deletedAt: new Date() } });
    process.kill(orphaned.starts()[0]?.pid ?? 0, 'SIGKILL');
    await ready(await run());
    await eventually(() => pids.every((pid) => !isPidAlive(pid)));
    expect(existsSync(join(harness.stateDir, `${deleted.modelId}.log`))).toBe(false);
  });
});

describe('a runner that is told to stop', () => {
  it('is not ready first, and keeps leading for its delay', async () => {
    const model = await harness.publishProcess();
    const runner = await run({ SHUTDOWN_DELAY_MS: '3600000', RUNNER_STOP_MODELS_ON_EXIT: 'true' });
    await ready(runner);
    runner.child.kill('SIGTERM');
    await eventually(async () => (await fetch(`${runner.admin}/readyz`)).status === 503);
    const woken = await harness.connect(runner.port).wake(model.modelId);
    expect(woken.condition).toBe('CONDITION_RUNNING');
  });

  it('leaves its models running for the next runner', async () => {
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    const runner = await run();
    await ready(runner);
    await harness.connect(runner.port).wake(model.modelId);
    const [{ pid } = { pid: 0 }] = model.starts();
    runner.child.kill('SIGTERM');
    expect(await runner.ended()).toBe(0);
    expect(isPidAlive(pid)).toBe(true);
  });

  it('ends them if configured so, and leaves no process', async () => {
    const model = await harness.publishProcess({ how: 'parent' }, { mode: 'always_on' });
    const runner = await run({ RUNNER_STOP_MODELS_ON_EXIT: 'true' });
    await ready(runner);
    await harness.connect(runner.port).wake(model.modelId);
    const pids = model.starts().map(({ pid }) => pid);
    runner.child.kill('SIGTERM');
    expect(await runner.ended()).toBe(0);
    expect(pids.filter(isPidAlive)).toEqual([]);
    expect(readdirSync(harness.stateDir).filter((name) => name.endsWith('.json'))).toEqual([]);
  });
});

const asRoot = itAsRoot(it);

describe("a model's command that looks for secrets", () => {
  async function snoop(env: Record<string, string>): Promise<string> {
    const found = harness.writable('found');
    const script = join(harness.dir, 'snooper.sh');
    const keyFile = join(harness.dir, 'the-secret-key');
    writeFileSync(script, SNOOPER);
    writeFileSync(keyFile, harness.secretKey.toString('base64'), { mode: 0o600 });
    const databaseUrl = new URL(harness.url);
    databaseUrl.searchParams.set('application_name', 'database-secret');
    const command = `exec sh ${script} ${harness.dir} >${found} 2>/dev/null`;
    const modelId = await harness.publish({ settings: { command } });
    const runner = await run({
      SECRET_KEY: '',
      SECRET_KEY_FILE: keyFile,
      RUNNER_MODEL_LOGS: 'true',
      CUDA_VISIBLE_DEVICES: '3',
      DATABASE_URL: databaseUrl.href,
      AWS_SECRET_ACCESS_KEY: 'cloud-secret',
      ...env,
    });
    await ready(runner);
    await harness.connect(runner.port).wake(modelId);
    return readFileSync(found, 'latin1');
  }
  /** What the command says, among the contents of files. */
  const opened = (found: string) => [...found.matchAll(/opened ([^\n]*)/g)].map(([, what]) => what);
  const secrets = () => [harness.secretKey.toString('base64'), 'database-secret', 'cloud-secret'];

  asRoot('gets nothing: it runs as another user, and its environment has only what is allowed', async () => {
    const found = await snoop({});
    expect(found).toContain('CUDA_VISIBLE_DEVICES=3');
    expect(found).toMatch(/^uid 65522, groups 65522$/m);
    expect(opened(found)).toEqual([]);
    expect(secrets().filter((secret) => found.includes(secret))).toEqual([]);
  });

  it('gets everything but its environment from a runner that runs as the same user', async () => {
    const found = await snoop(process.getuid?.() === 0 ? { RUNNER_MODEL_USER: 'root' } : {});
    expect(secrets().filter((secret) => !found.includes(secret))).toEqual([]);
    expect(opened(found)).toEqual(expect.arrayContaining(['its runner', 'the records']));
    expect(found).not.toMatch(/^AWS_SECRET/m);
  });
});

describe('a runner as its operator sees it', () => {
  it('passes what models may know of its environment, and counts models in its metrics', async () => {
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    const runner = await run({ RUNNER_STOP_MODELS_ON_EXIT: 'true' });
    await ready(runner);
    await harness.connect(runner.port).wake(model.modelId);
    const names = model.starts()[0]?.note.split(',') ?? [];
    expect(names).toEqual(expect.arrayContaining(['PATH', 'PORT', 'CUDA_VISIBLE_DEVICES']));
    expect(names.filter((name) => /DATABASE|SECRET|RUNNER|ADMIN/.test(name))).toEqual([]);
    // A scrape does not wait long for Postgres.
    const metrics = await eventually(async () => {
      const text = await (await fetch(`${runner.admin}/metrics`)).text();
      return text.includes('tidegate_postgres_up{service="runner"} 1') && text;
    });
    expect(metrics).toMatch(/tidegate_runner_models\{condition="running",service="runner"\} 1/);
    expect(metrics).toMatch(/tidegate_runner_starts_total\{result="running",service="runner"\} 1/);
    expect(metrics).toMatch(/tidegate_runner_model_condition\{org=".+",model=".+",condition="running".*\} 1/);
    expect(metrics).toMatch(/tidegate_runner_model_replicas\{.+\} 1/);
    expect(metrics).toMatch(/tidegate_runner_model_replicas_all\{.+\} 1/);
    expect(metrics).toMatch(/tidegate_runner_model_waiters\{.+\} 0/);
    expect(metrics).toMatch(/tidegate_runner_active\{pool="local",service="runner"\} 1/);
    runner.child.kill('SIGTERM');
    await runner.ended();
  });

  /** Runs a runner that cannot start. Resolves to what it printed. */
  async function failedStart(env: Record<string, string>): Promise<string> {
    const child = spawn(process.execPath, [MAIN], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        DATABASE_URL: harness.url,
        RUNNER_STATE_DIR: harness.stateDir,
        SERVICE_TOKENS: `gateway:${harness.gatewayToken}`,
        ...env,
      },
    });
    processes.add(child);
    let printed = '';
    child.stdout.on('data', (text) => {
      printed += text;
    });
    const [code] = await once(child, 'close');
    expect(code).toBe(1);
    return printed;
  }

  it('does not start with bad settings, and says in one line which variables are wrong', async () => {
    const printed = await failedStart({ SECRET_KEY: 'c2hvcnQ=', RUNNER_MODEL_USER: 'nobody-of-this-name' });
    expect(JSON.parse(printed)).toMatchObject({
      service: 'runner',
      issues: [{ variable: 'SECRET_KEY' }, { variable: 'RUNNER_MODEL_USER' }],
      msg: expect.stringContaining('SECRET_KEY must be 32 bytes in base64'),
    });
    expect(printed).not.toContain('c2hvcnQ=');
  });

  it('does not start without service tokens, although it listens on loopback only', async () => {
    const env = { RUNNER_HOST: '127.0.0.1', RUNNER_PORT: '0', ADMIN_PORT: '0', SERVICE_TOKENS: '' };
    const printed = await failedStart({ ...env, SECRET_KEY: harness.secretKey.toString('base64') });
    expect(JSON.parse(printed)).toMatchObject({
      issues: [
        { variable: 'SERVICE_TOKENS', reason: 'is not set, and callers of the runner get upstream keys' },
      ],
    });
  });

  it('does not start on a port that is taken, and the last line names its variable', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const env = { RUNNER_HOST: '127.0.0.1', RUNNER_PORT: String(port), ADMIN_PORT: '0' };
    const printed = await failedStart({ ...env, SECRET_KEY: harness.secretKey.toString('base64') });
    taken.close();
    expect(JSON.parse(printed.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      level: 'fatal',
      msg: `start failed: RUNNER_PORT ${port} is taken: another process listens there`,
    });
  });
});
