import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from '@tidegate/runtime/settings';
import { InstallationError, readConfig } from './config.ts';

/** An installation's variables. Two installations differ in all of them. */
const variables = (n: number) => ({
  DATABASE_URL: `postgresql://secret@127.0.0.1:${n}/tidegate`,
  REDIS_URL: `redis://127.0.0.1:${n}`,
  LIMITER_ADDRESSES: `127.0.0.1:${n}`,
  RUNNER_ADDRESS: `127.0.0.1:${n}`,
  SECRET_KEY: Buffer.alloc(32, n).toString('base64'),
});
const SERVICE_TOKEN = 't'.repeat(32);
const [LOCAL, OTHER] = [variables(1), variables(2)];

let root: string;
let empty: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidegate-ctl-'));
  empty = join(root, 'empty');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** The folder of a local stack that has been started. */
function stack(has: object = LOCAL): string {
  const dir = mkdtempSync(join(root, 'stack-'));
  writeFileSync(join(dir, 'env.json'), JSON.stringify(has));
  return dir;
}

function refused(env: Record<string, string>, dir: string): string {
  try {
    readConfig(env, dir);
  } catch (error) {
    expect(error instanceof InstallationError || error instanceof ConfigError).toBe(true);
    expect((error as Error).message).not.toContain('secret@');
    return (error as Error).message;
  }
  throw new Error('taken');
}

describe('the installation to manage is', () => {
  it('the local stack when the environment says nothing, with the prefix that its services were started with', () => {
    const { LIMITER_ADDRESSES, RUNNER_ADDRESS, SECRET_KEY, ...others } = LOCAL;
    const config = {
      ...others,
      SECRET_KEY: Buffer.from(SECRET_KEY, 'base64'),
      LIMITER_ADDRESSES: [LIMITER_ADDRESSES],
      RUNNER_ADDRESS: [{ pool: 'local', address: RUNNER_ADDRESS }],
      REDIS_PREFIX: 'tg:',
      CTL_CONNECT_TIMEOUT_MS: 20_000,
      OIDC_ONLY: false,
      SERVICE_TOKEN,
      caller: { token: SERVICE_TOKEN, tls: null },
    };
    const local = () => stack({ ...LOCAL, SERVICE_TOKEN });
    expect(readConfig({}, local())).toEqual(config);
    expect(readConfig({ REDIS_PREFIX: 'other:', DATABASE_URL: '' }, local())).toEqual({
      ...config,
      REDIS_PREFIX: 'other:',
    });
  });

  it('the local stack, with passwords on or off as they were when it was started', () => {
    const local = stack({ ...LOCAL, OIDC_ONLY: 'true' });
    expect([{}, { OIDC_ONLY: 'false' }].map((env) => readConfig(env, local).OIDC_ONLY)).toEqual([true, true]);
  });

  it('the local stack, even while the stores that it was started with are still exported', () => {
    const { DATABASE_URL, REDIS_URL } = LOCAL;
    expect(readConfig({ DATABASE_URL, REDIS_URL }, stack()).RUNNER_ADDRESS).toEqual([
      { pool: 'local', address: LOCAL.RUNNER_ADDRESS },
    ]);
  });

  it('the one in TIDEGATE_DATA_DIR when that is set', () => {
    const env = { TIDEGATE_DATA_DIR: stack(OTHER) };
    expect(readConfig(env, stack()).DATABASE_URL).toBe(OTHER.DATABASE_URL);
  });

  it('the one that the environment names completely, with secrets in files', () => {
    const file = join(root, 'database-url');
    writeFileSync(file, `${OTHER.DATABASE_URL}\n`);
    const { DATABASE_URL, ...rest } = OTHER;
    expect(readConfig({ ...rest, DATABASE_URL_FILE: file }, stack()).DATABASE_URL).toBe(DATABASE_URL);
  });

  it('the one that the environment names completely', () => {
    expect(readConfig(OTHER, stack())).toMatchObject({
      DATABASE_URL: OTHER.DATABASE_URL,
      REDIS_PREFIX: 'tg:',
    });
  });

  it('the one that the environment names completely but for Redis, which most commands do not need', () => {
    const { REDIS_URL: _, ...others } = OTHER;
    const config = readConfig(others, stack());
    expect([config.DATABASE_URL, config.REDIS_URL]).toEqual([OTHER.DATABASE_URL, undefined]);
  });
});

describe('the message says what to do', () => {
  it('when there is no installation', () => {
    const said = refused({}, empty);
    for (const part of [empty, 'npm start', 'TIDEGATE_DATA_DIR', ...Object.keys(LOCAL)])
      expect(said).toContain(part);
  });

  it('when the environment names a part, and no local stack the rest', () => {
    const { SECRET_KEY: _, ...part } = OTHER;
    expect(refused(part, empty)).toMatch(/^Missing for that: SECRET_KEY\.$/m);
  });

  it('rather than mix two installations', () => {
    const { DATABASE_URL, REDIS_URL, ...rest } = OTHER;
    const said = refused({ DATABASE_URL, REDIS_URL }, stack());
    expect(said).toMatch(/different values of DATABASE_URL, REDIS_URL: unset/);
    expect(said).toContain(`Missing for that: ${Object.keys(rest).join(', ')}.`);
    expect(refused({ ...OTHER, TIDEGATE_DATA_DIR: stack() }, empty)).toContain(
      `different values of ${Object.keys(OTHER).join(', ')}:`,
    );
  });

  it('when there is no stack in TIDEGATE_DATA_DIR, whatever is elsewhere', () => {
    expect(refused({ ...OTHER, TIDEGATE_DATA_DIR: empty }, stack())).toContain(`no local stack in ${empty}`);
  });

  it('when the file of a local stack is there and cannot be read', () => {
    const dir = stack();
    writeFileSync(join(dir, 'env.json'), '{ "DATABASE_URL": "postgresql://secret@');
    expect(refused({}, dir)).toBe(`Cannot read ${join(dir, 'env.json')}: it is not JSON.`);
    rmSync(join(dir, 'env.json'));
    mkdirSync(join(dir, 'env.json'));
    expect(refused({}, dir)).toBe(`Cannot read ${join(dir, 'env.json')}: EISDIR.`);
  });

  it('when a variable is invalid', () => {
    expect(refused({ ...OTHER, RUNNER_ADDRESS: 'nowhere' }, empty)).toContain(
      'RUNNER_ADDRESS: must be host:port',
    );
  });
});
