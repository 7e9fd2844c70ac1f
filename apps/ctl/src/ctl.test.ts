import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  newRequestId,
  PAGE_KEYS,
  SETTLEMENT_JOB,
  SETTLEMENT_JOB_OPTIONS,
  SETTLEMENT_QUEUE,
  settlementQueuePrefix,
} from '@tidegate/contracts';
import { closeDb, createDb, type Db, ensureRequestPartitions } from '@tidegate/db';
import { dayOf } from '@tidegate/limits';
import { createRedisClient } from '@tidegate/redis';
import { limiterService, runnerService } from '@tidegate/rpc';
import {
  eventually,
  PATIENT_DB,
  type TestPostgres,
  type TestRedis,
  testPostgres,
  testRedis,
} from '@tidegate/testing';
import { Queue, UnrecoverableError, Worker } from 'bullmq';
import { systemUser } from './config.ts';
import { type Ended, ctl as runHere } from './testing/ctl.ts';

/*
 * Runs commands on real stores, with a limiter and a runner that speak the real protocol and record
 * the calls they get. All but one run in this process, which is many times faster.
 */
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let peers: Server;
let env: Record<string, string>;
/** What the runner says of models with several replicas. */
let replicas: object[] = [];
const asked: { method: string; request: Record<string, unknown> }[] = [];

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = createDb(postgres.url, PATIENT_DB);
  peers = new Server();
  const peer = await serve(peers);
  env = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    LIMITER_ADDRESSES: `127.0.0.1:1,${peer}`,
    RUNNER_ADDRESS: peer,
    SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  };
});
afterAll(async () => {
  peers.forceShutdown();
  await closeDb(db);
  await Promise.all([postgres.drop(), redis.stop()]);
});

function serve(server: Server): Promise<string> {
  const answer =
    (method: string, response: object) =>
    ({ request }: ServerUnaryCall<Record<string, unknown>, object>, callback: sendUnaryData<object>) => {
      asked.push({ method, request });
      callback(null, response);
    };
  const month = {
    month: '2026-11',
    requests: 3,
    chargedTokens: 30,
    reservedTokens: 4,
    resetsAtMs: 1_796_083_200_000,
  };
  const refuse = () => undefined;
  server.addService(limiterService, {
    session: refuse,
    refreshOrgs: answer('refreshOrgs', {}),
    revokeKey: answer('revokeKey', {}),
    forgetOrg: answer('forgetOrg', {}),
    confirmSettlements: answer('confirmSettlements', {}),
    getMonth: answer('getMonth', month),
    findRequest: answer('findRequest', { state: 'STATE_QUEUED' }),
  });
  const state = (condition: string) => ({ modelId: 'm', condition, reason: '' });
  server.addService(runnerService, {
    watch: refuse,
    wake: answer('wake', state('CONDITION_RUNNING')),
    start: (call: Parameters<ReturnType<typeof answer>>[0], callback: sendUnaryData<object>) => {
      const condition = replicas.length > 0 ? 'CONDITION_RUNNING' : 'CONDITION_STARTING';
      answer('start', state(condition))(call, callback);
    },
    stop: answer('stop', state('CONDITION_STOPPED')),
    inspect: answer('inspect', { problem: 'It refuses the upstream key (401).' }),
    checkWorkload: answer('checkWorkload', { problem: 'There is no Service gpu/w.' }),
    getRoom: answer('getRoom', { room: { used: 70, waiting: 1 } }),
    // When it is told of a model for the second time, it answers that the model is not published.
    refresh: (call: Parameters<ReturnType<typeof answer>>[0], callback: sendUnaryData<object>) => {
      const again = asked.some(
        (one) => one.method === 'refresh' && one.request.modelId === call.request.modelId,
      );
      answer('refresh', state(again ? 'CONDITION_UNSPECIFIED' : 'CONDITION_STARTING'))(call, callback);
    },
    // Every model that it was told of has two requests in flight. So has a model that nobody knows.
    listActivity: (call: Parameters<ReturnType<typeof answer>>[0], callback: sendUnaryData<object>) => {
      const told = asked.flatMap(({ method, request }) => (method === 'refresh' ? [request.modelId] : []));
      const models = [...told, 'mdl_unknown'].map((modelId) => ({ modelId, inFlight: 2 }));
      answer('listActivity', { models, replicas })(call, callback);
    },
  });
  return new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(`127.0.0.1:${port}`),
    ),
  );
}

const ctl = (args: readonly string[], variables = env): Promise<Ended> => runHere(args, variables);

/** Runs the built command line as operators do. */
function spawned(args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, out, err })));
}

/**
 * Runs with `--json`. Expects one document on stdout, and nothing on stderr but what is said of a
 * secret that is an argument and of the servers of a model.
 */
async function json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const ended = await ctl([...args, '--json']);
  expect({ status: ended.status, err: ended.err }).toEqual({
    status: 0,
    err: expect.stringMatching(/^(Other users of this machine .*\n)?(Warning: http:.*\n)*$/),
  });
  return JSON.parse(ended.out) as T;
}

async function refused(...args: string[]): Promise<string> {
  const ended = await ctl(args);
  expect({ status: ended.status, out: ended.out }).toEqual({ status: 1, out: '' });
  return ended.err;
}

describe('an installation from the beginning', () => {
  it('is managed by the commands, whose JSON is stable', async () => {
    expect(await refused('key', 'list')).toContain('no organization yet');
    const org = await json('org', 'create', '--name', 'Acme Labs', '--plan', 'Pro');
    expect(org).toEqual({
      id: expect.stringMatching(/^org_/),
      slug: 'acme-labs',
      name: 'Acme Labs',
      plan: 'Pro',
    });
    expect(await json('org', 'list')).toEqual([org]);
    expect(await json('org', 'list', '--org', 'acme-labs')).toEqual([org]);

    const owner = await json('member', 'add', '--email', 'ada@example.com', '--role', 'owner');
    expect(owner).toMatchObject({ email: 'ada@example.com', role: 'owner', password: expect.any(String) });
    expect(await json('member', 'list', '--org', 'acme-labs')).toHaveLength(1);

    const model = await json(
      ...[
        'model',
        'publish',
        '--name',
        'small',
        '--kind',
        'text',
        '--mode',
        'always_on',
        '--context',
        '4096',
      ],
      ...['--url', 'http://127.0.0.1:9,http://127.0.0.1:10', '--upstream-key', 'sk-secret'],
    );
    expect(model).toMatchObject({ name: 'small', condition: 'starting', runnerReached: true });
    expect(await json('model', 'list')).toMatchObject([{ name: 'small', contextTokens: 4_096, inFlight: 2 }]);
    expect(await json('model', 'stop', '--name', 'small')).toMatchObject({ condition: 'stopped' });
    expect(await json('model', 'start', '--name', 'small')).toMatchObject({ condition: 'starting' });

    const key = await json(
      ...[
        'key',
        'create',
        '--name',
        'ci',
        '--models',
        'small',
        '--rpm',
        '5',
        '--at-once',
        '2',
        '--expires-on',
        '2099-12-31',
      ],
    );
    expect(key).toMatchObject({
      id: expect.stringMatching(/^key_/),
      name: 'ci',
      prefix: expect.stringMatching(/^ti_/),
      key: expect.stringMatching(/^ti_[0-9A-Za-z]{54}$/),
      requestsPerMinute: 5,
      requestsAtOnce: 2,
    });
    expect(JSON.stringify(await json('key', 'list'))).not.toContain(key.key);
    const gone = await json('model', 'delete', '--name', 'small');
    expect(gone).toMatchObject({ id: model.id, name: 'small', runnerReached: true });
    expect(Date.parse(String(gone.deletedAt))).not.toBeNaN();
    // It was starting. That is no longer so, and nothing else is known.
    expect(gone).not.toHaveProperty('condition');
    expect((await ctl(['key', 'list'])).out).toContain('1 deleted');

    expect(await refused('key', 'delete', '--id', String(key.id))).toContain('revoke it first');
    expect(await json('key', 'revoke', '--id', String(key.id))).toMatchObject({ state: 'Revoked' });
    const told = asked.find(({ method }) => method === 'revokeKey');
    expect(told?.request).toMatchObject({ orgId: org.id, keyId: key.id });
    expect(await json('key', 'delete', '--id', String(key.id))).toMatchObject({ id: key.id });
    expect(await json('key', 'list')).toEqual([]);

    await json('plan', 'set', '--name', 'Pro', '--requests-minute', '7000', '--images', 'false');
    expect(asked.filter(({ method }) => method === 'refreshOrgs').at(-1)?.request).toEqual({
      orgIds: [org.id],
    });
    const plans = await json<Record<string, unknown>[]>('plan', 'list');
    expect(plans.map((plan) => plan.name)).toEqual(['Free', 'Starter', 'Pro']);
    expect(plans[2]).toMatchObject({ requestsPerMinute: 7_000, images: false });
    expect(await json('org', 'set-plan', '--plan', 'Free', '--org', String(org.id))).toMatchObject({
      plan: 'Free',
    });
  }, 360_000);

  it('shows usage in the shape of its contract, with the live month', async () => {
    const usage = await json('usage', 'show');
    expect(Object.keys(usage)).toEqual(['totals', 'days', 'hours', 'models', 'rows', 'rowCount', 'month']);
    expect(usage.totals).toEqual({
      requests: 0,
      errors: 0,
      promptTokens: 0,
      completionTokens: 0,
      reservedTokens: 0,
      averageMs: null,
      p50Ms: null,
      p95Ms: null,
      firstChunkP50Ms: null,
      firstChunkP95Ms: null,
    });
    expect(usage.days).toHaveLength(30);
    expect(usage.month).toMatchObject({
      requests: 3,
      live: true,
      tokens: { charged: 30, reserved: 4, cap: 5_000_000 },
      resetsAt: '2026-12-01T00:00:00.000Z',
    });
    expect((await json<{ days: unknown[] }>('usage', 'show', '--days', '7')).days).toHaveLength(7);
    const { days, hours } = await json<Record<'days' | 'hours', unknown[]>>('usage', 'show', '--hours', '24');
    expect([days.length, hours.length]).toEqual([0, 24]);
  });

  it('says for how many days at most usage can be shown', async () => {
    const most = 366;
    expect((await ctl(['usage', 'show', '--help'])).out).toContain(`at most ${most}`);
    expect((await json<{ days: unknown[] }>('usage', 'show', '--days', `${most}`)).days).toHaveLength(most);
    expect(await refused('usage', 'show', '--days', `${most + 1}`)).toContain(`to ${most}.`);
  });

  it('shows refusals by cause, key and model, for hours or for days', async () => {
    const none = { total: 0, causes: [], keys: [], models: [] };
    const hours = await json<{ steps: unknown[] }>('refusal', 'show', '--hours', '2');
    expect(hours).toMatchObject({ ...none, step: 'hour', plan: { requestsPerMinute: expect.any(Number) } });
    expect(hours.steps).toHaveLength(2);
    expect(await refused('refusal', 'show', '--key', 'key_x')).toContain('has no key "key_x"');
    expect((await ctl(['refusal', 'show'])).out).toMatch(
      /^Period {3}24 hours since [-\d]+ \d\d:00 UTC\nRefused {2}0$/m,
    );
    const { id: orgId } = await db.org.findFirstOrThrow();
    const { id: keyId } = await json<{ id: string }>('key', 'create', '--name', 'refused');
    const ofKey = ['refusal', 'show', '--key', keyId];
    expect(await json(...ofKey)).toMatchObject(none);
    const [code, hour] = ['model_not_found', new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000)];
    await db.refusalHour.create({ data: { orgId, keyId, hour, code, cause: '', modelId: '', refusals: 3n } });
    expect(await json(...ofKey, '--days', '7')).toMatchObject({ step: 'day', total: 3 });
    // Without a table of models: all were refused before a model was found.
    expect((await ctl(['refusal', 'show'])).out).toMatch(
      /\n\nCause .*\nmodel_not_found .* 3 .*\n\nKey .*\nrefused \(ti_\w+…\) +3 .*\n$/,
    );
    await json('key', 'revoke', '--id', keyId);
    await json('key', 'delete', '--id', keyId);
  });

  it('lists requests, and says how far one is on its way into the usage', async () => {
    expect(await json('request', 'list', '--outcome', 'errors', '--from', '2026-11-01')).toEqual({
      requests: [],
      next: null,
    });
    const id = `req_${'a'.repeat(24)}`;
    expect(await json('request', 'show', '--id', id)).toEqual({ id, state: 'queued', request: null });
    const shown = await ctl(['request', 'show', '--id', id]);
    expect(shown.out).toMatch(/^Id +req_a+\nState +queued: ended; metering has not written it yet\n$/);
    const wrong = await ctl(['request', 'list', '--from', 'noon']);
    expect(wrong).toMatchObject({ status: 1, err: expect.stringContaining('From must be a UTC time') });
  });

  it('lists requests by an error code of a newer version, and says so if there are none', async () => {
    const { status, out, err } = await ctl(['request', 'list', '--outcome', 'model_asleep_2']);
    expect({ status, out }).toEqual({ status: 0, out: 'None.\n' });
    expect(err).toMatch(
      /^No request ended with "model_asleep_2"\. .* invalid_json, .* client_closed, .*\.\n$/,
    );
    expect((await ctl(['request', 'list', '--outcome', 'lease_lost'])).err).toBe('');
  });

  it('refuses to list requests by values that none can have, and lists those of deleted keys and models', async () => {
    const list = (...args: string[]) => refused('request', 'list', ...args);
    expect(await list('--outcome', 'Nonsense')).toMatch(
      /^Outcome must be answered, errors, or an error code/,
    );
    expect(await list('--key', 'nope', '--model', 'nil')).toMatch(
      /^--key must be the id of a key\. .* "nope", .*\n--model must be the id of a model\. .* "nil", .*\n$/,
    );
    expect(await list('--from', '2026-11-02', '--to', '2026-11-01')).toBe(
      'The period must end after it begins.\n',
    );

    const key = await json<{ id: string }>('key', 'create', '--name', 'unused');
    const { id: orgId } = await db.org.findFirstOrThrow();
    const reservedAt = new Date(Date.now() - 1_000);
    const day = new Date(reservedAt.toISOString().slice(0, 10));
    const deleted = { orgId, day, keyId: 'key_deleted', modelId: 'mdl_deleted' };
    await ensureRequestPartitions(db, [dayOf(reservedAt.getTime())]);
    await db.request.create({
      data: {
        ...deleted,
        reservationId: newRequestId(),
        reservedAt,
        answered: true,
        errorCode: null,
        streamed: false,
        promptTokens: 1,
        completionTokens: 1,
        reservedTokens: 2,
        chargedTokens: 2,
        durationMs: 1,
        firstChunkMs: null,
      },
    });
    const counts = { requests: 1n, errors: 0n, promptTokens: 1n, completionTokens: 1n, unreportedTokens: 0n };
    await db.usageDay.create({ data: { ...deleted, ...counts, durationMsSum: 1n, durationCount: 1n } });
    const found = (...args: string[]) => json<{ requests: unknown[] }>('request', 'list', ...args);
    for (const of of [
      ['--key', deleted.keyId],
      ['--model', deleted.modelId],
    ]) {
      expect((await found(...of)).requests).toHaveLength(1);
      expect((await found(...of, '--outcome', 'errors')).requests).toEqual([]);
    }
    for (const of of [
      ['--key', key.id],
      ['--key', PAGE_KEYS],
      ['--outcome', 'lease_lost'],
    ])
      expect((await found(...of)).requests).toEqual([]);
    await db.usageDay.deleteMany({ where: deleted });
    await db.request.deleteMany({ where: deleted });
    await json('key', 'revoke', '--id', key.id);
    await json('key', 'delete', '--id', key.id);
  });

  it('lists models with their requests in flight and replicas, or as unknown while the runner is unavailable', async () => {
    const where = ['--kind', 'text', '--mode', 'always_on', '--context', '1', '--url', 'http://127.0.0.1:9'];
    const { id } = await json('model', 'publish', '--name', 'busy', ...where);
    replicas = [{ modelId: id, up: 1, total: 2 }];
    const [here, away] = await Promise.all([
      ctl(['model', 'list']),
      ctl(['model', 'list'], { ...env, RUNNER_ADDRESS: '127.0.0.1:1' }),
    ]);
    expect(here.out).toMatch(/^Name .* In flight +Id\nbusy .* \(1 of 2 up\) .* 2 +mdl_\w+\n$/);
    const started = await ctl(['model', 'start', '--name', 'busy']);
    expect(started.out).toMatch(/\nbusy .* running \(1 of 2 up\) +mdl_\w+\n$/);
    replicas = [];
    expect(away.out).toMatch(/^Name .* In flight +Id\nbusy .* unknown +mdl_\w+\n$/);
  });

  it('tests the servers of a model before publishing it, and publishes it even if the test fails', async () => {
    const url = 'http://127.0.0.1:9/v1';
    const flags = ['--name', 'closed', '--kind', 'text', '--mode', 'always_on', '--context', '1'];
    for (const format of [[], ['--json']]) {
      const { status, out, err } = await ctl(['model', 'publish', ...flags, '--url', url, ...format]);
      expect({ status, err }).toEqual({
        status: 0,
        err: `Warning: ${url}: It refuses the upstream key (401).\n`,
      });
      if (format.length === 0) expect(out).toMatch(/\nclosed /);
      else expect(JSON.parse(out)).toMatchObject({ name: 'closed', runnerReached: true });
      const again = await ctl(['model', 'publish', ...flags, '--url', url, ...format]);
      expect([again.status, again.err]).toEqual([1, 'A model "closed" is already published.\n']);
      await json('model', 'delete', '--name', 'closed');
    }
  });

  it('publishes a workload whose check finds a fault only with --anyway', async () => {
    const what = ['--name', 'w', '--kind', 'text', '--mode', 'wake_on_request', '--context', '1'];
    const publish = (...more: string[]) =>
      ctl(['model', 'publish', ...what, '--kubernetes', 'gpu/w', ...more]);
    const { status, err } = await publish();
    expect(status).toBe(1);
    expect(err).toContain('There is no Service gpu/w. It can be published anyway.');
    expect(await publish('--anyway')).toMatchObject({ status: 0, err: '' });
    await json('model', 'delete', '--name', 'w');
  });

  it('tests the servers of a model before changing it, with a kept key that ctl does not unseal', async () => {
    const url = 'http://127.0.0.1:9/v1';
    const flags = ['--kind', 'text', '--mode', 'always_on', '--context', '1', '--url', url];
    const { id } = await json<{ id: string }>('model', 'publish', '--name', 'kept', ...flags);
    const set = (...changes: string[]) => ctl(['model', 'set', '--name', 'kept', ...changes]);
    const warning = `Warning: ${url}: It refuses the upstream key (401).\n`;
    expect(await set('--upstream-key-stdin')).toMatchObject({ status: 1 });
    await db.model.update({ where: { id }, data: { upstreamKey: Buffer.from('sealed elsewhere') } });
    const before = asked.length;
    const { status, out, err } = await set('--context', '2', '--json');
    expect({ status, err }).toEqual({ status: 0, err: warning });
    expect(JSON.parse(out)).toMatchObject({ id, contextTokens: 2, runnerReached: true });
    const inspected = asked
      .slice(before)
      .flatMap(({ method, request }) => (method === 'inspect' ? [request] : []));
    expect(inspected).toMatchObject([{ baseUrl: url, upstreamKey: '', upstreamKeyOf: id }]);
    expect(await set('--health-path', '/up')).toMatchObject({ status: 0, err: warning });
    expect(asked.findLast(({ method }) => method === 'inspect')?.request).toMatchObject({
      healthPath: '/up',
    });
    expect(await set('--upstream-key', '')).toMatchObject({ status: 0, err: warning });
    await db.model.deleteMany({ where: { id } });
  });

  it('removes a start timeout when it is given as an empty text, and refuses other text', async () => {
    const how = ['--kind', 'text', '--mode', 'wake_on_request', '--context', '1', '--command', 'serve'];
    await json('model', 'publish', '--name', 'timed', ...how, '--start-timeout', '30');
    const set = (...changes: string[]) => ctl(['model', 'set', '--name', 'timed', ...changes]);
    const timeout = async () =>
      (await json<{ settings: object }>('model', 'show', '--name', 'timed')).settings;
    expect(await timeout()).toMatchObject({ startTimeoutS: 30 });
    expect((await set('--start-timeout', 'soon')).err).toContain('Start timeout must be');
    expect(await set('--start-timeout', '')).toMatchObject({ status: 0, err: '' });
    expect(await timeout()).toMatchObject({ startTimeoutS: null });
    await json('model', 'delete', '--name', 'timed');
  });

  it('lists pools with what is in use of each, if its runner answers', async () => {
    const pools = { ...env, RUNNER_ADDRESS: `gone=127.0.0.1:1,gpu0=${env.RUNNER_ADDRESS}` };
    for (const name of ['gone', 'gpu0'])
      await ctl(['pool', 'set', '--name', name, '--capacity', '80'], pools);
    const { out } = await ctl(['pool', 'list'], pools);
    expect(out).toMatch(/^Name +Capacity +Always on +In use +Waiting +Models\n/);
    expect(out).toMatch(/^gone +80 +0 +- +- +0$/m);
    expect(out).toMatch(/^gpu0 +80 +0 +70 +1 +0$/m);
    await db.runnerPool.deleteMany();
  });

  it('has the runner of the pool test the servers of a model, and says so when it cannot be reached', async () => {
    const url = 'http://127.0.0.1:9/v1';
    const flags = ['--kind', 'text', '--mode', 'always_on', '--context', '1', '--url', url];
    const publish = (name: string, pool: string) =>
      ctl(['model', 'publish', '--name', name, ...flags, '--pool', pool], {
        ...env,
        RUNNER_ADDRESS: `gone=127.0.0.1:1,gpu0=${env.RUNNER_ADDRESS}`,
      });
    expect(await publish('there', 'gpu0')).toMatchObject({
      status: 0,
      err: `Warning: ${url}: It refuses the upstream key (401).\n`,
    });
    expect(await publish('nowhere', 'gone')).toMatchObject({
      status: 0,
      err:
        'Warning: No server was checked: the runner could not be reached.\n' +
        'Saved, but the runner could not be reached. It will read the change when it is back.\n',
    });
    for (const name of ['there', 'nowhere']) await db.model.deleteMany({ where: { name } });
  });

  it('says why a model failed, and below the list what its process printed', async () => {
    const how = ['--kind', 'text', '--mode', 'wake_on_request', '--context', '1', '--command', 'exit 1'];
    const { id } = await json<{ id: string }>('model', 'publish', '--name', 'broken', ...how);
    const conditionReason = 'It exited with code 1.\nno such file\ngiving up';
    await db.model.update({ where: { id }, data: { condition: 'failed', conditionReason } });
    const { out } = await ctl(['model', 'list']);
    expect(out).toMatch(/\nbroken .* failed \(It exited with code 1\.\) .*mdl_\w+\n/);
    expect(out).toMatch(/\n\nbroken printed:\n {2}no such file\n {2}giving up\n$/);
    const listed = await json<{ name: string }[]>('model', 'list');
    expect(listed.find(({ name }) => name === 'broken')).toMatchObject({ conditionReason });
    await json('model', 'delete', '--name', 'broken');
  });

  it('shows one model: where it runs, its replicas, and what it was before, but never its key', async () => {
    const where = ['--kind', 'text', '--mode', 'always_on', '--context', '1', '--url', 'http://127.0.0.1:9'];
    const publish = ['model', 'publish', '--name', 'shown', ...where, '--upstream-key', 'sk-secret'];
    const { id } = await json<{ id: string }>(...publish);
    const down = [{ baseUrl: 'http://127.0.0.1:9/v1', reason: 'It refuses the upstream key (401).' }];
    replicas = [{ modelId: id, up: 1, total: 2, down }];
    const conditionReason = 'No replica can be called.';
    const at = new Date('2026-11-22T10:00:00Z');
    const failed = { condition: 'failed', conditionReason, conditionAt: at } as const;
    await db.model.update({ where: { id }, data: failed });
    const change = { modelId: id, condition: 'failed', reason: conditionReason, at: new Date() } as const;
    await db.conditionChange.create({ data: change });
    const shown = await json('model', 'show', '--name', 'shown');
    expect(shown).toMatchObject({
      ...{ id, condition: 'failed', conditionReason, conditionAt: at.toISOString(), inFlight: 2, down },
      settings: { urls: ['http://127.0.0.1:9/v1'], upstreamModel: null, hasUpstreamKey: true },
      changes: [{ condition: 'failed', reason: conditionReason }],
    });
    const { out } = await ctl(['model', 'show', '--name', 'shown']);
    replicas = [];
    for (const line of [
      /^Condition +failed$/m,
      /^Reason +No replica can be called\.$/m,
      /^Since +2026-11-22 10:00 UTC$/m,
      /^Replicas +1 of 2 up$/m,
      /^Down +http:\/\/127\.0\.0\.1:9\/v1: It refuses the upstream key \(401\)\.$/m,
      /^URL +http:\/\/127\.0\.0\.1:9\/v1$/m,
      /^Upstream key +yes$/m,
      /^\d{4}-\d\d-\d\d \d\d:\d\d UTC +failed +No replica can be called\.$/m,
    ])
      expect(out).toMatch(line);
    expect(JSON.stringify(shown) + out).not.toContain('sk-secret');
    expect(await refused('model', 'show', '--name', 'none')).toContain('no published model "none"');
  });

  it('says how many answers end as errors when a model that runs here is stopped', async () => {
    const how = ['--kind', 'text', '--mode', 'wake_on_request', '--context', '1', '--command', 'serve'];
    const { id } = await json<{ id: string }>('model', 'publish', '--name', 'cut', ...how);
    // What is in flight waits for it, and is not charged.
    expect(await json('model', 'stop', '--name', 'cut')).toMatchObject({ cutOff: 0 });
    await db.model.update({ where: { id }, data: { condition: 'running' } });
    expect(await json('model', 'stop', '--name', 'cut')).toMatchObject({ cutOff: 2 });
    expect((await ctl(['model', 'stop', '--name', 'cut'])).out).toContain(
      '2 answers in progress end as errors (upstream_error), charged in full.',
    );
    expect(await json('model', 'stop', '--name', 'shown')).toMatchObject({ cutOff: 0 });
    for (const name of ['cut', 'shown']) await json('model', 'delete', '--name', name);
  });

  it('reads well without --json', async () => {
    await json('key', 'create', '--name', 'reading');
    const [keys, usage, created] = await Promise.all([
      ctl(['key', 'list']),
      ctl(['usage', 'show']),
      ctl(['key', 'create', '--name', 'human']),
    ]);
    expect(keys.out).toMatch(/^Name +State +May call +Limits +Last used +Expires +Id\n/);
    expect(keys.out).toMatch(
      /\nreading \(ti_\w+…\) +Active +All models +60\/min · 4 at once +Never +Never +key_\w+\n/,
    );
    expect(usage.out).toContain('3 of 5,000 requests');
    expect(created.out).toMatch(/\nti_[0-9A-Za-z]{54}\n\nSave it now\. It is shown only once\.\n$/);
  });
});

describe('accounts', () => {
  it('that already exist are reported, with their date, beside the one JSON document', async () => {
    const who = ['--email', 'eve@example.com', '--role', 'member'];
    const { accountSince } = await json('member', 'add', ...who);
    await json('member', 'remove', '--email', 'eve@example.com');
    const again = await ctl(['member', 'add', ...who, '--json']);
    expect(JSON.parse(again.out)).toMatchObject({ email: 'eve@example.com', existed: true, accountSince });
    const since = String(accountSince).slice(0, 16).replace('T', ' ');
    expect(again.err).toContain(`eve@example.com already had an account, created ${since} UTC`);
    await json('member', 'remove', '--email', 'eve@example.com');
    expect(await ctl(['member', 'add', ...who])).toMatchObject({ status: 0, err: again.err });
  });

  it('get a new password, given, or generated and shown once', async () => {
    const who = ['--email', 'bob@example.com'];
    const bob = await json('member', 'add', ...who, '--role', 'member');
    const account = { userId: bob.userId, email: 'bob@example.com' };
    expect(await json('member', 'set-password', ...who, '--password', 'a new password')).toEqual(account);
    const made = await json('member', 'set-password', ...who);
    expect(made).toEqual({ ...account, password: expect.stringMatching(/^\w{20}$/) });
    expect((await ctl(['member', 'set-password', ...who])).out).toMatch(
      /^bob@example\.com has a new password.*\n\nPassword: \w{20}\nIt is shown only once\.\n$/,
    );
    expect(await refused('member', 'set-password', '--email', 'nobody@example.com')).toContain(
      'nobody@example.com',
    );
  });

  it('lose a second factor that their owner has lost', async () => {
    const { userId } = await json('member', 'add', '--email', 'mary@example.com', '--role', 'member');
    const id = String(userId);
    await db.twoFactor.create({ data: { id: 'two_mary', userId: id, secret: 's', backupCodes: 'c' } });
    await db.user.update({ where: { id }, data: { twoFactorEnabled: true } });
    const reset = ['member', 'reset-two-factor', '--email', 'mary@example.com'];
    expect((await ctl(reset)).out).toBe(
      'mary@example.com no longer has a second factor, and is signed out everywhere.\n',
    );
    expect(await refused(...reset)).toContain('mary@example.com has no second factor.');
  });
});

describe('the program', () => {
  it('prints its answer alone on stdout, or its reason on stderr with exit status 1', async () => {
    const [plans, refusal, unknown, help] = await Promise.all([
      spawned(['plan', 'list', '--json']),
      spawned(['org', 'create', '--name', ' ']),
      spawned(['nonsense']),
      spawned(['--help']),
    ]);
    expect({ ...plans, out: JSON.parse(plans.out) }).toMatchObject({ status: 0, err: '', out: [{}, {}, {}] });
    expect(refusal).toMatchObject({
      status: 1,
      out: '',
      err: expect.stringMatching(/^Give a name of .*\n$/),
    });
    expect(unknown).toMatchObject({ status: 1, out: '', err: expect.stringContaining("'nonsense'") });
    expect(help).toMatchObject({ status: 0, err: '', out: expect.stringMatching(/^Usage: ctl /) });
  });
});

describe('refusals', () => {
  it.each([
    [['key', 'create', '--name', 'k', '--rpm', '6001'], '1 to 6,000'],
    [['key', 'create', '--name', 'k', '--rpm', 'many'], '1 to 6,000'],
    [['key', 'create', '--name', 'k', '--models', 'nothing'], '"nothing"'],
    [['key', 'create'], '--name'],
    [['key', 'list', '--org', 'nowhere'], '"nowhere"'],
    [['org', 'list', '--org', 'nowhere'], '"nowhere"'],
    [['audit', 'list', '--from', '2026-99-99'], 'From must be a day as YYYY-MM-DD.'],
    [['audit', 'list', '--action', 'nonsense'], 'one of: org.create, '],
    [['plan', 'set', '--name', 'Pro', '--images', 'maybe'], 'true or false'],
    [['queue', 'dead', '--limit', '0'], '1 to 100,000'],
    [['queue', 'dead', '--limit', '99999999999999999999'], '1 to 100,000'],
    [
      [
        'model',
        'publish',
        '--name',
        'm',
        '--kind',
        'text',
        '--mode',
        'always_on',
        '--context',
        '1',
        '--helm',
        'a/b',
      ],
      '--helm',
    ],
    [['nonsense'], 'nonsense'],
  ])('%j exits 1 with its reason on stderr', async (args, reason) => {
    expect(await refused(...args)).toContain(reason);
  });

  it('says everything that is wrong with an input, one line each', async () => {
    const said = await refused('key', 'create', '--name', ' ', '--rpm', '6001', '--at-once', '0');
    expect(said.split('\n')).toEqual([
      expect.stringMatching(/^(Name must have|Give a name of) 1 to 80 characters/),
      expect.stringMatching(/^Requests per minute must be .*1 to 6,000\.$/),
      expect.stringMatching(/^Requests at once must be .*1 to 256\.$/),
      '',
    ]);
  });

  it('says when a revocation is not in force because no limiter answers', async () => {
    const key = await json('key', 'create', '--name', 'unreachable');
    const away = { ...env, LIMITER_ADDRESSES: '127.0.0.1:1' };
    const ended = await ctl(['key', 'revoke', '--id', String(key.id), '--json'], away);
    expect(ended).toMatchObject({ status: 1, err: expect.stringContaining('may still be accepted') });
    expect(JSON.parse(ended.out)).toMatchObject({ id: key.id, state: 'Revoked', inForce: false });
    // The text would say that the key is refused from now on.
    expect(await ctl(['key', 'revoke', '--id', String(key.id)], away)).toMatchObject({ status: 1, out: '' });
    const again = await json('key', 'revoke', '--id', String(key.id));
    expect(again).toMatchObject({ state: 'Revoked' });
    expect(again).not.toHaveProperty('inForce');
  });

  it('names the variable that is missing, and never shows a value', async () => {
    const { SECRET_KEY: _, ...rest } = env;
    const ended = await ctl(['org', 'list'], rest);
    expect(ended).toMatchObject({ status: 1, out: '', err: expect.stringContaining('SECRET_KEY') });
    expect(ended.err).not.toContain(postgres.url);
  });

  it('needs Redis only for commands that read it, and they say so', async () => {
    const { REDIS_URL: _, ...rest } = env;
    const ended = await Promise.all(
      [['org', 'list'], ['queue', 'status'], ['doctor']].map((args) => ctl(args, rest)),
    );
    const said = 'This command needs Redis: set REDIS_URL, too.\n';
    expect(ended.map(({ status, err }) => ({ status, err }))).toEqual([
      { status: 0, err: '' },
      { status: 1, err: said },
      { status: 1, err: said },
    ]);
  });

  it('fails, rather than waits, when a store cannot be reached', async () => {
    const nowhere = {
      ...env,
      DATABASE_URL: 'postgresql://x@127.0.0.1:1/x',
      REDIS_URL: 'redis://127.0.0.1:1',
    };
    const ended = await Promise.all([ctl(['org', 'list'], nowhere), ctl(['queue', 'status'], nowhere)]);
    expect(ended.map(({ status, out }) => ({ status, out }))).toEqual([
      { status: 1, out: '' },
      { status: 1, out: '' },
    ]);
    expect(ended.map(({ err }) => err)).toEqual([
      'Failed: Postgres does not answer at 127.0.0.1:1.\n',
      'Failed: Redis does not answer at 127.0.0.1:1.\n',
    ]);
  });

  it('says where the local stack is that may not run, when its store cannot be reached', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tidegate-ctl-'));
    const ended = { ...env, DATABASE_URL: 'postgresql://x@127.0.0.1:1/x' };
    await writeFile(join(dir, 'env.json'), JSON.stringify(ended));
    const { err } = await ctl(['org', 'list'], { TIDEGATE_DATA_DIR: dir });
    expect(err).toBe(
      `Failed: Postgres does not answer at 127.0.0.1:1.\nIf the local stack in ${dir} is not running, start it (npm start).\n`,
    );
    await rm(dir, { recursive: true });
  });

  it('says what is wrong with a login, without the password', async () => {
    const DATABASE_URL = Object.assign(new URL(postgres.url), { password: 'not-to-be-shown' }).toString();
    const { status, out, err } = await ctl(['org', 'list'], { ...env, DATABASE_URL });
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(err).toMatch(/^Failed: Postgres refuses the user or the password in DATABASE_URL: .*\.\n$/);
    expect(err).not.toContain('not-to-be-shown');
  });
});

describe('fifteen commands at once', () => {
  const ROLE = 'tidegate_ctl_crowd';
  let crowded: Record<string, string>;
  beforeAll(async () => {
    await db.$executeRawUnsafe(`CREATE ROLE ${ROLE} LOGIN PASSWORD 'crowd'`);
    await db.$executeRawUnsafe(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${ROLE}`);
    const url = Object.assign(new URL(postgres.url), { username: ROLE, password: 'crowd' });
    crowded = { ...env, DATABASE_URL: url.toString() };
    await json('org', 'create', '--name', 'Crowd', '--plan', 'Pro');
  });
  afterAll(async () => {
    await db.$executeRawUnsafe(`DROP OWNED BY ${ROLE}`);
    await db.$executeRawUnsafe(`DROP ROLE ${ROLE}`);
  });
  const create = (i: number, timeoutMs: number) =>
    ctl(['key', 'create', '--org', 'crowd', '--name', `${i}`], {
      ...crowded,
      CTL_CONNECT_TIMEOUT_MS: String(timeoutMs),
    });

  it('all succeed where Postgres has few connections to give', async () => {
    await db.$executeRawUnsafe(`ALTER ROLE ${ROLE} CONNECTION LIMIT 4`);
    const ended = await Promise.all(Array.from({ length: 15 }, (_, i) => create(i, 180_000)));
    expect(ended.map(({ status, err }) => ({ status, err }))).toEqual(Array(15).fill({ status: 0, err: '' }));
  });

  it('fail with one sentence, after a while, where it has none', async () => {
    await db.$executeRawUnsafe(`ALTER ROLE ${ROLE} CONNECTION LIMIT 0`);
    const { status, out, err } = await create(16, 1_000);
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(err).toMatch(/^Failed: Postgres takes no more connections: .* raise its max_connections\.\n$/);
  });
});

describe('queue', () => {
  it('counts jobs, lists dead letters and queues them again with all their attempts', async () => {
    expect(await json('queue', 'status')).toEqual({ waiting: 0, active: 0, delayed: 0, dead: 0 });
    const connection = createRedisClient(redis.url, { maxRetriesPerRequest: null });
    const options = { prefix: settlementQueuePrefix('tg:'), connection };
    const queue = new Queue(SETTLEMENT_QUEUE, options);
    const reservationId = newRequestId();
    const data = { settlements: [{ reservationId }] };
    const job = await queue.add(SETTLEMENT_JOB, data, SETTLEMENT_JOB_OPTIONS);
    const failing = new Worker(
      SETTLEMENT_QUEUE,
      async () => Promise.reject(new UnrecoverableError('no use')),
      options,
    );
    await eventually(async () => (await queue.getFailedCount()) === 1);
    await failing.close();

    expect(await json('queue', 'dead')).toEqual([
      {
        id: job.id,
        failedAt: expect.any(String),
        attempts: 1,
        reason: 'no use',
        settlements: 1,
        reservationIds: [reservationId],
      },
    ]);
    expect(await refused('queue', 'replay', '--id', 'nothing')).toContain('"nothing"');
    expect(await json('queue', 'replay')).toEqual({ replayed: 1 });
    expect(await json('queue', 'replay')).toEqual({ replayed: 0 });
    const replays = await json('audit', 'list', '--installation', '--action', 'queue');
    expect(replays).toMatchObject({
      events: [{ actor: `ctl (${systemUser()})`, action: 'queue.replay', target: 'all' }],
      next: null,
    });
    expect(await json('queue', 'status')).toEqual({ waiting: 1, active: 0, delayed: 0, dead: 0 });
    expect((await queue.getJob(job.id ?? ''))?.attemptsMade).toBe(0);
    await queue.close();
    connection.disconnect();
  });
});

describe('what is deleted for good', () => {
  it('can be an organization, confirmed with its name, whose trail names the system user', async () => {
    const { id } = await json('org', 'create', '--name', 'Short lived', '--plan', 'Pro');
    const events = await db.auditEvent.findMany({ where: { orgId: String(id) } });
    expect(events.map(({ actor }) => actor)).toEqual([`ctl (${systemUser()})`]);
    expect(await refused('org', 'delete', '--org', 'short-lived', '--confirm', 'no')).toContain(
      'Short lived',
    );
    expect(await json('org', 'delete', '--org', 'short-lived', '--confirm', 'Short lived')).toEqual({
      id,
      runnerReached: true,
      usageDeleted: true,
    });
    expect(asked).toContainEqual({ method: 'forgetOrg', request: { orgId: id } });
    expect(await db.org.count({ where: { id: String(id) } })).toBe(0);
  });

  it('can be an account, in every organization', async () => {
    const email = 'leaver@example.com';
    const { slug } = await json('org', 'create', '--name', 'Left by one');
    await json('member', 'add', '--org', String(slug), '--email', email, '--role', 'viewer');
    expect(await json('member', 'delete', '--email', email)).toEqual({ email, left: [slug] });
    expect(await refused('member', 'delete', '--email', email)).toContain('no account');
  });
});

describe('the audit trail', () => {
  it('is listed for an organization, or for the installation, whose events outlive organizations', async () => {
    const { id } = await json('org', 'create', '--name', 'Trailed');
    const trail = ['audit', 'list', '--org', 'trailed', '--action', 'org'];
    expect(await json(...trail)).toMatchObject({ events: [{ action: 'org.create', target: id }] });
    await json('org', 'delete', '--org', 'trailed', '--confirm', 'Trailed');
    const operators = ['audit', 'list', '--installation', '--action', 'org.delete', '--limit', '1'];
    const actor = `ctl (${systemUser()})`;
    expect(await json(...operators)).toMatchObject({ events: [{ actor, target: id, details: {} }] });
    const { out } = await ctl([...operators]);
    expect(out).toContain(`${actor}  org.delete  ${id}`);
    expect(await refused(...trail, '--installation')).toContain('--org or --installation');
  });
});

describe('the system user', () => {
  it('is the one who called sudo, or else the one who runs the command', () => {
    expect(systemUser({ SUDO_USER: 'alice' })).toBe('alice');
    expect(systemUser({})).toBe(userInfo().username);
  });
});
