import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { closeDb, createDb } from '@tidegate/db';
import { freePort } from '@tidegate/embedded';
import { identify, isAlive, type KnownProcess, signal } from '@tidegate/processes';
import { createRedisConnection } from '@tidegate/redis';
import { eventually, PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import { filesOf } from './files.ts';
import { planInstances } from './instances.ts';
import { closeModelsPlace } from './models-place.ts';
import type { StackOptions } from './options.ts';
import { servicesOf } from './services.ts';
import { type Stack, startStack } from './stack.ts';

/**
 * A checkout with services that only report that they are ready. The variable MISBEHAVE can make
 * one do more.
 */
const SERVICE = `
import { createServer } from 'node:http';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
const { ADMIN_PORT, GATEWAY_PORT, MISBEHAVE } = process.env;
if (MISBEHAVE === 'exit') { console.log('the reason why'); process.exit(3); }
if (MISBEHAVE === 'stuck') {
  process.on('SIGTERM', () => {});
  const stubborn = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
  console.log('child ' + spawn(process.execPath, ['-e', stubborn]).pid);
}
const serve = (port) => createServer((q, r) => r.end(JSON.stringify(process.env))).listen(port, '127.0.0.1');
serve(ADMIN_PORT);
if (GATEWAY_PORT) serve(GATEWAY_PORT);
`;

let folders: string[] = [];
let stacks: Stack[] = [];
let databases: TestPostgres[] = [];
let models: KnownProcess[] = [];

afterEach(async () => {
  for (const { pid } of models.filter(isAlive)) signal(pid, 'SIGKILL');
  models = [];
  await Promise.all(stacks.map((stack) => stack.stop()));
  await Promise.all(databases.map((database) => database.drop()));
  for (const folder of folders) {
    // What a launcher that was killed has left.
    closeModelsPlace(filesOf(folder));
    rmSync(folder, { recursive: true, force: true });
  }
  stacks = [];
  folders = [];
  databases = [];
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tidegate-local-'));
  folders.push(path);
  return path;
}

function checkout(): string {
  const root = folder();
  for (const app of ['gateway', 'limiter', 'metering', 'runner']) {
    mkdirSync(join(root, 'apps', app, 'dist'), { recursive: true });
    writeFileSync(join(root, 'apps', app, 'package.json'), '{"type":"module"}');
    writeFileSync(join(root, 'apps', app, 'dist/main.js'), SERVICE);
  }
  return root;
}

/** For tests whose stacks have their own stores. Creating a Postgres costs over a second. */
const DATA = mkdtempSync(join(tmpdir(), 'tidegate-local-'));
afterAll(() => rmSync(DATA, { recursive: true, force: true }));

/** Starts a stack with its own stores, as users get it. */
async function startWhole(options: StackOptions = {}): Promise<Stack> {
  const stack = await startStack({
    root: checkout(),
    dataDir: DATA,
    ports: 'random',
    demo: false,
    ...options,
  });
  stacks.push(stack);
  return stack;
}

/** A database on the run's Postgres. */
async function database(): Promise<string> {
  const made = await testPostgres();
  databases.push(made);
  return made.url;
}

const start = async (options: StackOptions = {}): Promise<Stack> =>
  startWhole({ databaseUrl: await database(), dataDir: folder(), ...options });

const readInfo = (stack: Stack) => JSON.parse(readFileSync(join(stack.dataDir, 'stack.json'), 'utf8'));
const processes = (stack: Stack) =>
  JSON.parse(readFileSync(join(stack.dataDir, 'processes.json'), 'utf8')) as KnownProcess[];

/**
 * Starts a process that leads its group, as model processes do. `onTerm` is what it does on
 * SIGTERM.
 */
async function startModel(onTerm: string): Promise<KnownProcess> {
  const script = `process.on('SIGTERM', () => {${onTerm}}); setInterval(() => {}, 1000); console.log('up')`;
  const child = spawn(process.execPath, ['-e', script], { detached: true });
  await once(child.stdout, 'data');
  const known = identify(child.pid ?? 0) as KnownProcess;
  models.push(known);
  return known;
}

/** Logs in to both stores, and returns the users' names. */
async function whoIsIn(urls: { readonly DATABASE_URL: string; readonly REDIS_URL: string }) {
  const db = createDb(urls.DATABASE_URL, { ...PATIENT_DB, maxConnections: 1 });
  const redis = createRedisConnection(urls.REDIS_URL, { maxRetriesPerRequest: 0, retryStrategy: () => null });
  redis.on('error', () => {});
  try {
    const [row] = await db.$queryRaw<{ name: string }[]>`SELECT current_user::text AS name`;
    return { postgres: row?.name, redis: `${new URL(urls.REDIS_URL).username} ${await redis.ping()}` };
  } finally {
    await closeDb(db);
    redis.disconnect();
  }
}

describe('the local stack', () => {
  it('describes itself in a private stack.json, with every process of a scaled service', async () => {
    const stack = await start({ scale: { gateway: 2, limiter: 2, runner: 2 } });
    const path = join(stack.dataDir, 'stack.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(stack.dataDir, 'env.json')).mode & 0o777).toBe(0o600);
    const info = readInfo(stack);
    expect(info).toEqual(stack.info);
    expect(Object.keys(info)).toEqual([
      'gateway',
      'gateways',
      'console',
      'owner',
      'org',
      'apiKey',
      'models',
      'prometheus',
      'redis',
      'postgres',
      'services',
    ]);
    expect(info.gateways).toHaveLength(2);
    expect(info.gateway).toBe(info.gateways[0]);
    expect(info.gateway).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect(info.console).toBeNull();
    expect(info.services.map(({ name }: { name: string }) => name).sort()).toEqual([
      'gateway',
      'gateway',
      'limiter',
      'limiter',
      'metering',
      'runner',
      'runner',
    ]);
    for (const { pid, health, metrics } of info.services) {
      expect(identify(pid)).not.toBeNull();
      expect((await fetch(health)).status).toBe(200);
      expect((await fetch(metrics)).status).toBe(200);
    }
  });

  it('tells every gateway about all limiters, and nothing about the databases', async () => {
    const stack = await start({
      scale: { limiter: 2, gateway: 2 },
      env: { gateway: { LOG_LEVEL: 'warn' }, 'gateway-2': { LOG_LEVEL: 'error' } },
    });
    const envs = await Promise.all(
      stack.info.gateways.map(async (url) => (await (await fetch(url)).json()) as Record<string, string>),
    );
    const [env = {}, env2 = {}] = envs;
    expect(env2.LIMITER_ADDRESSES).toBe(env.LIMITER_ADDRESSES);
    expect(env2.LOG_LEVEL).toBe('error');
    expect(env.LIMITER_ADDRESSES).toMatch(/^127\.0\.0\.1:\d+,127\.0\.0\.1:\d+$/);
    expect(env.LOG_LEVEL).toBe('warn');
    expect(env.DATABASE_URL).toBeUndefined();
    expect(env.REDIS_URL).toBeUndefined();
  });

  it('tells ctl whether a password lets anyone into the console', async () => {
    const told = async (options?: StackOptions) => {
      const { dataDir } = await start(options);
      return JSON.parse(readFileSync(join(dataDir, 'env.json'), 'utf8')).OIDC_ONLY;
    };
    expect(await told()).toBe('false');
    process.env.OIDC_ONLY = 'true';
    try {
      expect(await told()).toBe('true');
      expect(await told({ env: { console: { OIDC_ONLY: 'false' } } })).toBe('false');
    } finally {
      delete process.env.OIDC_ONLY;
    }
  });

  it.each([undefined, '900000'])(
    'lets a gateway that someone else ends finish its answers for as long as a gateway may: %s',
    async (outer) => {
      if (outer) process.env.SHUTDOWN_TIMEOUT_MS = outer;
      try {
        const stack = await start();
        const env = (await (await fetch(stack.info.gateway)).json()) as Record<string, string>;
        expect(env.SHUTDOWN_TIMEOUT_MS).toBe(outer);
      } finally {
        delete process.env.SHUTDOWN_TIMEOUT_MS;
      }
    },
  );

  it('gives each service its own login to the stores, with passwords in private files', async () => {
    const stack = await startWhole();
    const { databasePasswords, redisPasswords } = JSON.parse(
      readFileSync(join(stack.dataDir, 'secrets.json'), 'utf8'),
    );
    for (const { name, health } of stack.info.services.filter((service) => service.name !== 'gateway')) {
      const env = (await (await fetch(health)).json()) as Record<string, string>;
      const database = new URL(env.DATABASE_URL ?? '');
      expect([database.username, database.password]).toEqual([
        `tidegate_${name}_login`,
        databasePasswords[name],
      ]);
      if (name === 'runner') continue;
      const redis = new URL(env.REDIS_URL ?? '');
      expect([redis.username, redis.password]).toEqual([name, redisPasswords[name]]);
    }
    for (const file of ['secrets.json', 'redis.acl', 'env.json'])
      expect(statSync(join(stack.dataDir, file)).mode & 0o777).toBe(0o600);
    const ctl = JSON.parse(readFileSync(join(stack.dataDir, 'env.json'), 'utf8'));
    expect(await whoIsIn(ctl)).toEqual({ postgres: 'tidegate_ctl_login', redis: 'ctl PONG' });
    const operator = { DATABASE_URL: stack.info.postgres, REDIS_URL: stack.info.redis };
    expect(await whoIsIn(operator)).toEqual({ postgres: 'tidegate', redis: ' PONG' });
    const nobody = { ...operator, REDIS_URL: stack.info.redis.replace(/:[^/@]+@/, '') };
    await expect(whoIsIn(nobody)).rejects.toThrow();
  });

  it('creates the logins on data of a version that had none', async () => {
    const stack = await startWhole();
    await stack.stop();
    const path = join(stack.dataDir, 'secrets.json');
    const { databasePasswords, redisPasswords, ...older } = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify(older));
    const again = await startWhole();
    const ctl = JSON.parse(readFileSync(join(again.dataDir, 'env.json'), 'utf8'));
    expect(await whoIsIn(ctl)).toEqual({ postgres: 'tidegate_ctl_login', redis: 'ctl PONG' });
    const now = JSON.parse(readFileSync(path, 'utf8'));
    expect(now).toMatchObject(older);
    expect(now.redisPasswords.ctl).not.toBe(redisPasswords.ctl);
    expect(now.databasePasswords.ctl).not.toBe(databasePasswords.ctl);
  });

  it('starts a killed service again, and stack.json follows', async () => {
    const stack = await start();
    const before = stack.pid('limiter');
    stack.kill('limiter', 'SIGKILL');
    const pidInFile = () =>
      readInfo(stack).services.find(({ name }: { name: string }) => name === 'limiter').pid;
    await eventually(() => pidInFile() !== before && pidInFile() !== 0);
    expect(pidInFile()).toBe(stack.pid('limiter'));
    expect(identify(stack.pid('limiter'))).not.toBeNull();
  });

  it('starts killed stores again on the same data', async () => {
    const stack = await startWhole();
    for (const store of ['redis', 'postgres']) {
      const before = stack.pid(store);
      stack.kill(store, 'SIGKILL');
      await eventually(() => ![0, before].includes(stack.pid(store)));
    }
  });

  it('leaves no process behind when it stops, stuck ones and their children included', async () => {
    const stack = await startWhole({
      env: { metering: { MISBEHAVE: 'stuck' } },
      stopTimeoutMs: 300,
    });
    const log = readFileSync(join(stack.dataDir, 'logs/metering.log'), 'utf8');
    const child = identify(Number(/child (\d+)/.exec(log)?.[1])) as KnownProcess;
    const all = processes(stack);
    expect(all.length).toBe(6);
    await stack.stop();
    expect(all.filter(isAlive)).toEqual([]);
    await eventually(() => !isAlive(child));
    expect(() => readInfo(stack)).toThrow(/ENOENT/);
  });

  it('leaves models running when only their runner is told to end', async () => {
    const stack = await start();
    const { health = '' } = stack.info.services.find(({ name }) => name === 'runner') ?? {};
    const env = (await (await fetch(health)).json()) as Record<string, string>;
    expect(env.RUNNER_STOP_MODELS_ON_EXIT).toBeUndefined();
  });

  it('ends models itself when it stops: it asks them first, and kills those that do not react', async () => {
    const stack = await start({ stopTimeoutMs: 5_000 });
    const asked = join(stack.dataDir, 'asked');
    const polite = await startModel(`require('fs').writeFileSync('${asked}', 'yes'); process.exit()`);
    const [deaf, other] = [await startModel(''), await startModel('')];
    const runner = join(stack.dataDir, 'runner');
    mkdirSync(join(runner, 'pools/gpu'), { recursive: true });
    const note = (name: string, known: KnownProcess) =>
      writeFileSync(join(runner, name), JSON.stringify(known));
    note('mdl_a.json', polite);
    note('pools/gpu/mdl_b.json', deaf);
    note('mdl_c.json', { ...other, identity: 'another time' });
    await stack.stop();
    expect(readFileSync(asked, 'utf8')).toBe('yes');
    expect([polite, deaf, other].map(isAlive)).toEqual([false, false, true]);
  });

  it('refuses a second start on the same data, and allows one after the first has stopped', async () => {
    const first = await start();
    const { dataDir } = first;
    await expect(start({ dataDir })).rejects.toThrow(/already running here \(process \d+\)/);
    expect(readInfo(first).gateway).toBe(first.info.gateway);
    await first.stop();
    await start({ dataDir });
  });

  it('names the option that changes a taken port', async () => {
    const port = await freePort();
    const holder = createServer().listen(port, '127.0.0.1');
    try {
      const refused = start({ ports: { gateway: port } });
      await expect(refused).rejects.toMatchObject({
        message: expect.stringContaining(`Port ${port} is taken`),
        hint: expect.stringContaining('--gateway-port'),
      });
    } finally {
      holder.close();
    }
  });

  it('shows the end of the log of a service that does not come up, and stops the rest', async () => {
    const dataDir = folder();
    const refused = start({ dataDir, env: { limiter: { MISBEHAVE: 'exit' } } });
    await expect(refused).rejects.toMatchObject({
      message: 'limiter ended while starting.',
      output: expect.stringContaining('the reason why'),
    });
    expect(() => readFileSync(join(dataDir, 'processes.json'))).toThrow(/ENOENT/);
    await start({ dataDir });
  });

  it('keeps secrets over a restart, and forgets them with fresh', async () => {
    const secrets = () => readFileSync(join(DATA, 'secrets.json'), 'utf8');
    await (await startWhole()).stop();
    const first = secrets();
    await (await startWhole()).stop();
    expect(secrets()).toBe(first);
    // What a killed runner and a killed launcher left running is remembered until it has ended.
    const model = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true });
    const known = identify(model.pid ?? 0) as KnownProcess;
    const record = JSON.stringify(known);
    writeFileSync(join(DATA, 'runner', 'mdl_a.json'), record);
    await startWhole({ fresh: true });
    expect(secrets()).not.toBe(first);
    await eventually(() => !isAlive(known));
  });

  it('does not give one port to two services', async () => {
    const root = checkout();
    mkdirSync(join(root, 'apps/console'));
    writeFileSync(join(root, 'apps/console/package.json'), '{}');
    const plan = (scale: number, gateway: number, other: number) =>
      planInstances(servicesOf(root), { gateway: scale }, { gateway, console: other });
    const port = await freePort();
    await expect(plan(2, port, port + 1)).rejects.toThrow(`cannot both listen on port ${port + 1}`);
    await expect(plan(1, 65_536, port)).rejects.toThrow('the highest is 65535');
  });

  it('takes its services with it when it is killed itself', async () => {
    const built = new URL('../dist/index.js', import.meta.url).href;
    const stores = { databaseUrl: await database() };
    const options = { ...stores, root: checkout(), dataDir: folder(), ports: 'random', demo: false };
    const script = `
      const { startStack } = await import(${JSON.stringify(built)});
      const stack = await startStack(${JSON.stringify(options)});
      console.log(JSON.stringify(stack.info.services.map(({ pid }) => pid)));`;
    const launcher = spawn(process.execPath, ['--input-type=module', '-e', script]);
    const [line] = await once(launcher.stdout, 'data');
    const services = (JSON.parse(String(line)) as number[]).map((pid) => identify(pid) as KnownProcess);
    expect(services.filter(isAlive)).toHaveLength(services.length);
    launcher.kill('SIGKILL');
    await eventually(() => !services.some(isAlive));
  });

  it('ends what a killed launcher left running before it starts', async () => {
    const dataDir = folder();
    const orphan = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true });
    const known = identify(orphan.pid ?? 0) as KnownProcess;
    const other = { pid: process.pid, identity: 'another time' };
    writeFileSync(join(dataDir, 'processes.json'), JSON.stringify([known, other]));
    await start({ dataDir });
    expect(isAlive(known)).toBe(false);
  });

  it('stops everything when a start is cancelled', async () => {
    const callOff = new AbortController();
    const started = startStack({
      root: checkout(),
      dataDir: DATA,
      ports: 'random',
      demo: false,
      signal: callOff.signal,
      report: {
        phase: (title, work) => {
          if (title === 'models and services') setImmediate(() => callOff.abort());
          return work(() => {});
        },
      },
    });
    await expect(started).rejects.toThrow();
    expect(() => readFileSync(join(DATA, 'processes.json'))).toThrow(/ENOENT/);
    expect(() => readFileSync(join(DATA, 'launcher.pid'))).toThrow(/ENOENT/);
  });
});
