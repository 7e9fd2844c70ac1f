import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import { ctl } from './testing/ctl.ts';

const PASSWORD = 'tall-otter-jumps-42';
const TEAM = {
  name: 'Team',
  keys: 20,
  requestsPerMonth: 1_000,
  requestsPerMinute: 60,
  requestsAtOnce: 4,
  tokensPerMonth: 1_000_000,
  images: false,
};

let dir: string;
let postgres: TestPostgres;
let db: Db;
let env: Record<string, string>;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tidegate-bootstrap-'));
  postgres = await testPostgres();
  db = createDb(postgres.url, PATIENT_DB);
  // There is neither a limiter nor a runner.
  env = {
    DATABASE_URL: postgres.url,
    LIMITER_ADDRESSES: '127.0.0.1:1',
    RUNNER_ADDRESS: '127.0.0.1:1',
    SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  };
});
afterAll(async () => {
  await closeDb(db);
  await postgres.drop();
  rmSync(dir, { recursive: true });
});

function file(content: unknown): string {
  const path = join(dir, 'bootstrap.yaml');
  const isRaw = typeof content === 'string' || Buffer.isBuffer(content);
  writeFileSync(path, isRaw ? content : JSON.stringify(content));
  return path;
}
const refused = async (content: unknown, variables: object = {}) => {
  const args = ['bootstrap', ...(content === undefined ? [] : ['--file', file(content)])];
  const { status, out, err } = await ctl(args, { ...env, ...variables });
  expect([status, out]).toEqual([1, '']);
  return err;
};

describe('bootstrap', () => {
  it('says what is wrong with its input, and creates nothing', async () => {
    expect(await refused('a: [')).toMatch(/is neither YAML nor JSON/);
    expect(await refused(Buffer.from('organization: { name: Bücher }', 'latin1'))).toMatch(/is not UTF-8/);
    expect(await refused({ orgs: [] })).toMatch(/orgs.*\n.*Allowed: plans/);
    expect(await refused({ organization: { name: 'Acme' } })).toMatch(/needs an owner/);
    expect(await refused(undefined, { BOOTSTRAP_OWNER: 'you@example.com' })).toMatch(/needs an owner/);
    expect(await refused({ plans: [{ ...TEAM, tokens: 1 }] })).toMatch(
      /Team has no value tokens\. Values: keys,/,
    );
    expect(await refused({ plans: [{ ...TEAM, keys: 0 }] })).toMatch(/API keys must be/);
    const weak = {
      BOOTSTRAP_ORG: 'Acme',
      BOOTSTRAP_OWNER: 'you@example.com',
      BOOTSTRAP_PASSWORD: 'password',
    };
    expect(await refused(undefined, weak)).toMatch(/[Pp]assword/);
    expect(await db.org.count()).toBe(0);
  });

  it('does nothing when nothing is asked for, as in compose without the variables', async () => {
    const variables = { BOOTSTRAP_ORG: '', BOOTSTRAP_PLAN: '', BOOTSTRAP_OWNER: '', BOOTSTRAP_PASSWORD: '' };
    const done = await ctl(['bootstrap'], { ...env, ...variables });
    expect(done).toEqual({ status: 0, out: 'Nothing to do.\n', err: '' });
  });

  it('creates plans, organization and owner from a file, once; the password comes from stdin and is shown nowhere', async () => {
    const path = file(
      `plans: [${JSON.stringify(TEAM)}]\norganization:\n  name: Acme\n  plan: team\nowner:\n  email: You@example.com\n`,
    );
    const args = ['bootstrap', '--file', path, '--password-stdin', '--json'];
    const made = await ctl(args, env, { stdin: `${PASSWORD}\n` });
    expect(JSON.parse(made.out)).toEqual({
      plans: ['Team'],
      created: {
        org: { id: expect.any(String), slug: 'acme', name: 'Acme', plan: 'Team' },
        owner: 'you@example.com',
        passwordSet: true,
      },
    });
    expect(made.out + made.err).not.toContain(PASSWORD);

    const again = await ctl(args, env, { stdin: PASSWORD });
    expect(JSON.parse(again.out)).toEqual({ plans: [], created: null });
    expect([await db.org.count(), await db.user.count(), await db.auditEvent.count()]).toEqual([1, 1, 3]);
  });

  it('says of a plan whether owners may choose it, and leaves a plan as it is if the file does not say', async () => {
    const set = async (plan: object) =>
      (await ctl(['bootstrap', '--file', file({ plans: [plan] })], env)).out.split('\n')[0];
    const isOffered = async () => (await db.plan.findUniqueOrThrow({ where: { name: 'Chosen' } })).offered;
    const chosen = { ...TEAM, name: 'Chosen' };
    expect(await set({ ...chosen, offered: true })).toBe('The plan Chosen is set.');
    expect(await set(chosen)).toBe('Nothing to do.');
    expect(await isOffered()).toBe(true);
    expect(await set({ ...chosen, offered: false })).toBe('The plan Chosen is set.');
    expect(await isOffered()).toBe(false);
  });

  it('warns, and does not fail, if no limiter can be told of a plan that organizations are on', async () => {
    const path = file({ plans: [{ ...TEAM, keys: 30 }] });
    const { status, out, err } = await ctl(['bootstrap', '--file', path], env);
    expect({ status, out }).toEqual({ status: 0, out: 'The plan Team is set.\nNothing else to do.\n' });
    expect(err).toMatch(/^Warning: plan Team: The change is saved but not in force yet: /);
  });

  it.each([
    ['false', 'identity provider, or once you have run `ctl member set-password --email you@example.com`.\n'],
    ['true', 'identity provider.\n'],
  ])('without a password says how the owner signs in, with OIDC_ONLY=%s', async (OIDC_ONLY, how) => {
    await db.org.deleteMany();
    const owner = { BOOTSTRAP_ORG: 'Acme', BOOTSTRAP_OWNER: 'you@example.com' };
    const { out } = await ctl(['bootstrap'], { ...env, ...owner, OIDC_ONLY });
    expect(out).toContain(how);
  });
});
