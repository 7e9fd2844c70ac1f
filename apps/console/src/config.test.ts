import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readConfig } from './config.ts';

const ENV = {
  CONSOLE_URL: 'https://console.example/',
  DATABASE_URL: 'postgresql://u:p@127.0.0.1/db',
  LIMITER_ADDRESSES: 'a:1, b:2',
  RUNNER_ADDRESS: 'r:1',
  GATEWAY_PUBLIC_URL: 'https://api.example/v1/',
  AUTH_SECRET: 'x'.repeat(32),
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
};
const OIDC = { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'id', OIDC_CLIENT_SECRET: 'secret' };

describe('configuration', () => {
  it('is read from the environment', () => {
    expect(readConfig(ENV)).toMatchObject({
      CONSOLE_URL: 'https://console.example',
      LIMITER_ADDRESSES: ['a:1', 'b:2'],
      GATEWAY_PUBLIC_URL: 'https://api.example/v1',
    });
    expect(
      readConfig({ ...ENV, LIVE_COUNTS_TIMEOUT_MS: '7', CHANGE_TIMEOUT_MS: '8' }).deadlines,
    ).toMatchObject({
      shownMs: 7,
      limiterMs: 8,
    });
    expect(readConfig(ENV).oidc).toBeNull();
    expect(readConfig({ ...ENV, ...OIDC }).oidc).toMatchObject({ issuer: 'https://id.example' });
  });

  it.each(Object.keys(ENV))('without %s is refused, and the error names it', (variable) => {
    expect(() => readConfig({ ...ENV, [variable]: undefined })).toThrow(`${variable}: is not set`);
  });

  it('takes each of its secrets from a file', () => {
    const dir = mkdtempSync(join(tmpdir(), 'tidegate-console-'));
    const env: Record<string, string> = { ...ENV, ...OIDC };
    for (const name of ['DATABASE_URL', 'AUTH_SECRET', 'SECRET_KEY', 'OIDC_CLIENT_SECRET']) {
      const file = join(dir, name);
      writeFileSync(file, `${env[name]}\n`);
      delete env[name];
      env[`${name}_FILE`] = file;
    }
    expect(readConfig(env)).toEqual(readConfig({ ...ENV, ...OIDC }));
    rmSync(dir, { recursive: true });
  });

  it.each(Object.keys(OIDC))('without passwords and without %s is refused', (variable) => {
    const env = { ...ENV, ...OIDC, OIDC_ONLY: 'true' };
    expect(readConfig(env).oidc?.only).toBe(true);
    expect(() => readConfig({ ...env, [variable]: undefined })).toThrow(`${variable}: is not set`);
    expect(() => readConfig({ ...ENV, OIDC_ONLY: 'true' })).toThrow(`${variable}: is not set`);
  });

  it('that is wrong in several ways is refused, and the error names all of them', () => {
    const env = { ...ENV, OIDC_ISSUER: 'https://id.example', CONSOLE_PORT: 'x', GRPC_TLS_CA_FILE: '/ca.pem' };
    const start = () => readConfig(env);
    for (const variable of ['CONSOLE_PORT', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'GRPC_TLS_KEY_FILE'])
      expect(start).toThrow(`${variable}: `);
    expect(start).not.toThrow('OIDC_ISSUER: ');
  });

  it('with half of an identity provider is refused, and the error names it', () => {
    expect(() => readConfig({ ...ENV, ...OIDC, OIDC_CLIENT_SECRET: '' })).toThrow(
      'OIDC_CLIENT_SECRET: is not set',
    );
  });
});
