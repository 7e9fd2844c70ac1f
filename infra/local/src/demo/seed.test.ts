import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { closeDb, createDb, type Db, migrate } from '@tidegate/db';
import { PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import { type Files, filesOf } from '../files.ts';
import { rememberDemo } from '../secrets.ts';
import { loginsOf } from './logins.ts';
import { DEMO_MODELS } from './models.ts';
import { seedDemo } from './seed.ts';

let postgres: TestPostgres;
let db: Db;
let files: Files;

beforeEach(async () => {
  postgres = await testPostgres();
  await migrate(postgres.url);
  db = createDb(postgres.url, { ...PATIENT_DB, maxConnections: 2 });
  files = filesOf(mkdtempSync(join(tmpdir(), 'tidegate-seed-')));
});
afterEach(async () => {
  await closeDb(db);
  await postgres.drop();
  rmSync(files.dataDir, { recursive: true, force: true });
});

/** A start whose stand-ins listen on ports from `port` on, and whose Node is in `folder`. */
const seed = (port: number, folder = '/usr/bin') =>
  seedDemo(
    db,
    files,
    DEMO_MODELS.flatMap((model, i) => (model.mode === 'always_on' ? [{ model, port: port + i }] : [])),
    { node: join(folder, 'node'), standin: '/standin.js', settings: {}, warning: null },
  );

/** The settings of the published models, by name. */
async function published(): Promise<Record<string, unknown>> {
  const rows = await db.model.findMany({ where: { deletedAt: null } });
  return Object.fromEntries(rows.map(({ name, settings }) => [name, settings]));
}

const change = async (name: string, data: Parameters<Db['model']['update']>[0]['data']) => {
  const { id } = await db.model.findFirstOrThrow({ where: { name } });
  await db.model.update({ where: { id }, data });
};

const names = DEMO_MODELS.map(({ name }) => name);

describe("the demo's models at a later start", () => {
  it('move to the new places of their stand-ins, and keep what else was set', async () => {
    expect((await seed(1_000)).models).toEqual(names);
    await change('demo-text', { settings: { urls: ['http://127.0.0.1:1000/v1'], healthPath: '/up' } });
    expect((await seed(2_000, '/opt')).models).toEqual(names);
    const after = await published();
    expect(after['demo-text']).toEqual({ urls: ['http://127.0.0.1:2000/v1'], healthPath: '/up' });
    expect(after['demo-vision']).toEqual({ urls: ['http://127.0.0.1:2002/v1'] });
    expect(after['demo-wake']).toMatchObject({ command: expect.stringContaining("'/opt/node'") });
  });

  it('stay deleted, and stay where the user has pointed them', async () => {
    await seed(1_000);
    await change('demo-text', { deletedAt: new Date() });
    const own = { urls: ['http://127.0.0.1:8000/v1'] };
    const command = { command: 'llama-server --port $PORT', healthPath: '/health' };
    await change('demo-vision', { settings: own });
    await change('demo-wake', { settings: command });
    for (const port of [2_000, 3_000]) {
      expect((await seed(port)).models).toEqual([]);
      expect(await published()).toEqual({ 'demo-vision': own, 'demo-wake': command });
    }
  });

  it('are completed when the first start was interrupted', async () => {
    const { secrets } = await seed(1_000);
    const { org = '', apiKey = '' } = secrets.demo ?? {};
    await db.model.deleteMany({ where: { name: 'demo-vision' } });
    rememberDemo(files, { org, apiKey });
    expect((await seed(2_000)).models).toEqual(names);
    expect(Object.keys(await published()).sort()).toEqual([...names].sort());
  });

  it('move when the start before was interrupted halfway', async () => {
    await seed(1_000);
    await db.$executeRaw`ALTER TABLE model ADD CONSTRAINT broken CHECK (settings::text NOT LIKE '%:2002/%')`;
    await expect(seed(2_000)).rejects.toThrow();
    expect(await published()).toMatchObject({ 'demo-text': { urls: ['http://127.0.0.1:2000/v1'] } });
    await db.$executeRaw`ALTER TABLE model DROP CONSTRAINT broken`;
    expect((await seed(3_000)).models).toEqual(names);
    expect(await published()).toMatchObject({
      'demo-text': { urls: ['http://127.0.0.1:3000/v1'] },
      'demo-vision': { urls: ['http://127.0.0.1:3002/v1'] },
    });
  });
});

describe("the demo's logins", () => {
  it('are shown at later starts too, while they work', async () => {
    await seed(1_000);
    const { secrets } = await seed(2_000);
    expect(await loginsOf(db, secrets)).toEqual({ owner: secrets.owner, apiKey: secrets.demo?.apiKey });
  });

  it('are not shown once the password has changed and the key has been revoked', async () => {
    const { secrets } = await seed(1_000);
    await db.apiKey.updateMany({ data: { revokedAt: new Date() } });
    expect(await loginsOf(db, secrets)).toEqual({ owner: secrets.owner, apiKey: null });
    await db.account.updateMany({ data: { password: 'aa:bb' } });
    expect(await loginsOf(db, secrets)).toEqual({ owner: null, apiKey: null });
    await db.user.deleteMany();
    expect(await loginsOf(db, secrets)).toEqual({ owner: null, apiKey: null });
  });

  it('are those of the account in the database, not those of a new data folder', async () => {
    await seed(1_000);
    rmSync(files.secrets);
    const { secrets } = await seed(2_000);
    expect(await loginsOf(db, secrets)).toEqual({ owner: null, apiKey: secrets.demo?.apiKey });
  });
});
