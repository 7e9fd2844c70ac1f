import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newPageKeyId, unseal } from '@tidegate/contracts';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import { ctl } from './testing/ctl.ts';

const NEW_KEY = Buffer.alloc(32, 2);
const ASKED = { stdin: 'sk-upstream\n' };

let postgres: TestPostgres;
let db: Db;
let env: Record<string, string>;
beforeAll(async () => {
  postgres = await testPostgres();
  db = createDb(postgres.url, PATIENT_DB);
  env = {
    DATABASE_URL: postgres.url,
    LIMITER_ADDRESSES: '127.0.0.1:1',
    RUNNER_ADDRESS: '127.0.0.1:1',
    SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  };
  await ctl(['org', 'create', '--name', 'Acme'], env);
});
afterAll(async () => {
  await closeDb(db);
  await postgres.drop();
});

const publish = (name: string, flags: readonly string[]) => {
  const model = ['--name', name, '--kind', 'text', '--mode', 'always_on', '--context', '10'];
  const args = ['model', 'publish', ...model, '--url', 'http://127.0.0.1:1', ...flags];
  return ctl(args, env, ASKED);
};
const upstreamKeyOf = async (name: string, key = Buffer.alloc(32, 1)) =>
  unseal([key], (await db.model.findFirstOrThrow({ where: { name } })).upstreamKey ?? Buffer.of());

describe('a secret', () => {
  it('is read from standard input: an upstream key', async () => {
    expect((await publish('asked', ['--upstream-key-stdin'])).status).toBe(0);
    expect(await upstreamKeyOf('asked')).toBe('sk-upstream');
  });

  it('is read from standard input: the upstream key of a model that is changed', async () => {
    await publish('changed', ['--upstream-key', 'sk-old']);
    const set = (...flags: string[]) => ctl(['model', 'set', '--name', 'changed', ...flags], env, ASKED);
    expect((await set('--upstream-key-stdin')).status).toBe(0);
    expect(await upstreamKeyOf('changed')).toBe('sk-upstream');
    const argued = await set('--upstream-key', 'sk-argued');
    expect(argued.err).toMatch(/^Other users .* list of processes. Use --upstream-key-stdin/);
    expect((await set('--upstream-key', '')).err).not.toContain('list of processes');
    expect((await db.model.findFirstOrThrow({ where: { name: 'changed' } })).upstreamKey).toBeNull();
  });

  it('is read from standard input: a password', async () => {
    const who = ['--email', 'ada@example.com'];
    const add = ['member', 'add', ...who, '--role', 'owner', '--password-stdin', '--json'];
    expect((await ctl(add, env, { stdin: 'short' })).err).toMatch(/password/i);
    expect(JSON.parse((await ctl(add, env, { stdin: 'long enough' })).out)).not.toHaveProperty('password');
    const set = ['member', 'set-password', ...who, '--password-stdin', '--json'];
    expect((await ctl(set, env, { stdin: 'short' })).err).toMatch(/password/i);
    expect(JSON.parse((await ctl(set, env, { stdin: 'long enough' })).out)).not.toHaveProperty('password');
  });

  it('can be an argument, and then stderr says who can see it and how to give it instead', async () => {
    const argued = await publish('argued', ['--upstream-key', 'sk-argued', '--json']);
    expect(argued).toMatchObject({
      status: 0,
      err: expect.stringMatching(/^Other users .* list of processes. Use --upstream-key-stdin/),
    });
    expect(JSON.parse(argued.out)).toMatchObject({ name: 'argued' });
    expect(await upstreamKeyOf('argued')).toBe('sk-argued');
    const who = ['member', 'set-password', '--email', 'ada@example.com'];
    expect((await ctl([...who, '--password', 'long enough'], env)).err).toContain('Use --password-stdin');
  });

  it('is given in the same ways when it is changed, and "" removes it without a warning', async () => {
    const set = ['model', 'set', '--name', 'argued'];
    const argued = await ctl([...set, '--upstream-key', 'sk-set'], env);
    expect(argued).toMatchObject({ status: 0, err: expect.stringContaining('Use --upstream-key-stdin') });
    expect(await upstreamKeyOf('argued')).toBe('sk-set');
    expect((await ctl([...set, '--upstream-key-stdin'], env, ASKED)).err).not.toContain('Other users');
    expect(await upstreamKeyOf('argued')).toBe('sk-upstream');
    expect((await ctl([...set, '--upstream-key', ''], env)).err).not.toContain('Other users');
    expect(await db.model.findFirst({ where: { name: 'argued', upstreamKey: { not: null } } })).toBeNull();
  });

  it('is given in one way only', async () => {
    const ended = await publish('twice', ['--upstream-key', 'sk-argued', '--upstream-key-stdin']);
    expect(ended).toMatchObject({ status: 1, err: expect.stringContaining('not both') });
  });
});

describe('a generated password', () => {
  it('is shown although no limiter can be told of the page key that ends with it', async () => {
    const email = 'grace@example.com';
    const add = ['member', 'add', '--email', email, '--role', 'owner', '--json'];
    const { userId } = JSON.parse((await ctl(add, env)).out);
    const { id: orgId } = await db.org.findFirstOrThrow();
    const limits = { allModels: true, requestsPerMinute: 1, requestsAtOnce: 1 };
    const value = { prefix: 'ti_x', hash: Buffer.alloc(32, 5) };
    await db.apiKey.create({
      data: { id: newPageKeyId(), orgId, name: 'Try it', pageUserId: userId, ...value, ...limits },
    });
    const set = ['member', 'set-password', '--email', email];
    expect(await ctl(set, env)).toEqual({
      status: 1,
      out: expect.stringMatching(/^Password: \w{20}\nIt is shown only once\.\n$/),
      err: expect.stringContaining(`The change is saved. ${email} had a Try it key.`),
    });
    const json = await ctl([...set, '--json'], env);
    expect(JSON.parse(json.out)).toMatchObject({ password: expect.any(String), inForce: false });
    await db.apiKey.deleteMany({ where: { pageUserId: userId } });
  });

  it('is not made where nobody can sign in with one, nor is a given one set', async () => {
    const only = { ...env, OIDC_ONLY: 'true' };
    const [email, refused] = ['lin@example.com', 'Passwords are turned off'];
    const add = ['member', 'add', '--email', email, '--role', 'viewer'];
    for (const given of [['--password', 'long enough'], ['--password-stdin']])
      expect(await ctl([...add, ...given], only)).toMatchObject({
        status: 1,
        out: '',
        err: expect.stringContaining(refused),
      });
    expect(await db.user.count({ where: { email } })).toBe(0);
    const added = await ctl([...add, '--json'], only);
    expect(JSON.parse(added.out)).toMatchObject({ email, existed: false });
    expect(added.out).not.toContain('password');
    const before = await db.account.findMany({ where: { user: { email } } });
    const set = await ctl(['member', 'set-password', '--email', email], only);
    expect(set).toMatchObject({ status: 1, out: '', err: expect.stringContaining(refused) });
    expect(await db.account.findMany({ where: { user: { email } } })).toEqual(before);
  });
});

it('secrets reseal says what it did, and fails while it cannot unseal the key of a published model', async () => {
  const { id } = await db.model.findFirstOrThrow({ where: { name: 'asked' } });
  await db.model.updateMany({ where: { id: { not: id } }, data: { upstreamKey: null } });
  const lost = { ...env, SECRET_KEY: NEW_KEY.toString('base64') };
  const keys = { ...lost, SECRET_KEY_PREVIOUS: env.SECRET_KEY };
  const ended = await ctl(['secrets', 'reseal'], lost);
  expect(ended).toMatchObject({ status: 1, out: expect.stringContaining('Unreadable  1') });
  expect(ended.err).toContain(`acme: asked (${id})`);
  expect(ended.err).toContain('Set SECRET_KEY_PREVIOUS');
  expect(ended.err).toContain('model set --org ORG --name NAME --upstream-key-stdin');
  await db.model.update({ where: { id }, data: { deletedAt: new Date() } });
  expect(await ctl(['secrets', 'reseal'], lost)).toMatchObject({ status: 0, err: '' });
  await db.model.update({ where: { id }, data: { deletedAt: null } });
  const resealed = await ctl(['secrets', 'reseal'], keys);
  expect(resealed).toMatchObject({ status: 0, out: 'Resealed    1\nUnchanged   0\nUnreadable  0\n' });
  expect(resealed.err).toContain('will read the keys when they are back');
  expect(await upstreamKeyOf('asked', NEW_KEY)).toBe('sk-upstream');
});
