import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { loadConfig } from './config.ts';
import { callerFields, callerOf, trustByTokensOf, trustFields, trustOf } from './trust.ts';

const FIXTURES = join(import.meta.dirname, '../../../tests/fixtures/tls/services');
const A = 'a'.repeat(32);
const B = 'b'.repeat(32);
const TLS = {
  GRPC_TLS_CA_FILE: join(FIXTURES, 'ca.pem'),
  GRPC_TLS_CERT_FILE: join(FIXTURES, 'one.pem'),
  GRPC_TLS_KEY_FILE: join(FIXTURES, 'one.key'),
};

const caller = (env: Record<string, string>) => callerOf(loadConfig(z.object(callerFields), env));
const trust = (env: Record<string, string>, host = '127.0.0.1') =>
  trustOf(loadConfig(z.object(trustFields), env), { variable: 'LIMITER_HOST', host });

describe('whom a service answers', () => {
  it('is whoever has one of the tokens, of which each caller may have several', () => {
    expect(trust({ SERVICE_TOKENS: `gateway:${A}, ctl:${B}\nctl:${A}${B}` }, '0.0.0.0').tokens).toEqual([
      { service: 'gateway', token: A },
      { service: 'ctl', token: B },
      { service: 'ctl', token: A + B },
    ]);
  });

  it.each(['127.0.0.1', '127.1.2.3', '::1', '[::1]', 'localhost'])(
    'may be anyone on this machine when it listens on %s',
    (host) => expect(trust({}, host)).toEqual({ tokens: [], tls: null }),
  );

  it.each(['0.0.0.0', '::', '10.0.0.1', 'limiter', '127.0.0.1.example', 'localhost.example'])(
    'must be configured when it listens on %s',
    (host) => {
      expect(() => trust({}, host)).toThrow(
        'SERVICE_TOKENS: is not set, and LIMITER_HOST lets other machines call this service',
      );
    },
  );

  it('must be configured for a service that needs it, even on loopback', () => {
    const read = (env: Record<string, string>) =>
      trustByTokensOf(loadConfig(z.object(trustFields), env), 'its callers get secrets');
    expect(() => read({})).toThrow('SERVICE_TOKENS: is not set, and its callers get secrets');
    expect(() => read(TLS)).toThrow('SERVICE_TOKENS: is not set, and a certificate alone');
    expect(read({ SERVICE_TOKENS: `gateway:${A}` })).toEqual({
      tokens: [{ service: 'gateway', token: A }],
      tls: null,
    });
  });

  it('must be configured even with TLS', () => {
    expect(() => trust(TLS, '0.0.0.0')).toThrow('SERVICE_TOKENS: is not set, and a certificate alone');
    expect(() => trust(TLS)).toThrow('SERVICE_TOKENS: is not set');
    expect(trust({ ...TLS, SERVICE_TOKENS: `gateway:${A}` }).tls).toMatchObject({
      ca: TLS.GRPC_TLS_CA_FILE,
    });
  });

  it.each([
    ['a token without a service', A],
    ['an unknown service', `limiter:${A}`],
    ['a short token', 'gateway:hunter2'],
    ['a token with other characters', `gateway:${A}"`],
    ['nothing but commas', ' , '],
    ['one token for two services', `gateway:${A},metering:${A}`],
  ])('cannot be read from %s, which the error does not repeat', (_what, tokens) => {
    const read = () => trust({ SERVICE_TOKENS: tokens });
    expect(read).toThrow(/SERVICE_TOKENS: must/);
    expect(read).not.toThrow(/hunter2|aaa/);
  });
});

describe('what a service shows to those it calls', () => {
  it('is its token and its certificate, if it has them', () => {
    expect(caller({})).toEqual({ token: null, tls: null });
    expect(caller({ SERVICE_TOKEN: A, ...TLS })).toEqual({
      token: A,
      tls: { ca: TLS.GRPC_TLS_CA_FILE, cert: TLS.GRPC_TLS_CERT_FILE, key: TLS.GRPC_TLS_KEY_FILE },
    });
    expect(() => caller({ SERVICE_TOKEN: 'hunter2' })).toThrow('SERVICE_TOKEN: must be 32');
  });

  it('must include all of the TLS files or none, and they must fit together', () => {
    const { GRPC_TLS_KEY_FILE: _, ...part } = TLS;
    expect(() => caller(part)).toThrow('GRPC_TLS_KEY_FILE: is not set');
    expect(() => caller({ ...TLS, GRPC_TLS_CA_FILE: '/nowhere/ca.pem' })).toThrow(
      'GRPC_TLS_CA_FILE: names a file that cannot be read (ENOENT)',
    );
    const mixed = { ...TLS, GRPC_TLS_KEY_FILE: join(FIXTURES, 'two.key') };
    expect(() => caller(mixed)).toThrow('GRPC_TLS_CERT_FILE: cannot be used with the other GRPC_TLS files');
  });
});
