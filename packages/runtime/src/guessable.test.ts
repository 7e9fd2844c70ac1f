import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { loadConfig, secret } from './config.ts';
import { isGuessable } from './guessable.ts';

const STRONG = randomBytes(32).toString('hex');

describe('a secret that can be guessed', () => {
  it.each([
    ['is short', 'k7Fq2pZ'],
    ['is one character', 'x'.repeat(32)],
    ['is one byte in base64', Buffer.alloc(32, 7).toString('base64')],
    ['repeats itself', 'k7Fq2pZ9'.repeat(4)],
    ['is made of words from examples', 'tidegate-demo-secret-password-1'],
    ['is a password in a URL', 'postgresql://tidegate:tidegate@db:5432/tidegate'],
    ['is a password of a cluster', 'redis+cluster://:changeme@a:1,b:2'],
    ['is one in a list', `gateway:${STRONG},metering:${'y'.repeat(40)}`],
  ])('%s', (_how, setting) => expect(isGuessable(setting)).toBe(true));
});

describe('a secret that is good enough', () => {
  it.each([
    ['hexadecimal', STRONG],
    ['base64', randomBytes(32).toString('base64')],
    ['a sentence', 'tidegate: 4 horses read my mail'],
    ['in a URL', `redis://limiter:${STRONG}@redis:6379`],
    ['in a list', `gateway:${STRONG},metering:${STRONG}x`],
    ['a URL without a password, where others say who may connect', 'postgresql://tidegate@db/tidegate'],
    ['any password of a server on this machine', 'postgresql://postgres:postgres@127.0.0.1:5432/db'],
    ['any password of a server on this machine, by IPv6', 'redis://:x@[::1]:6379'],
  ])('is %s', (_what, setting) => expect(isGuessable(setting)).toBe(false));
});

describe('in production', () => {
  const schema = z.object({ AUTH_SECRET: secret(z.string()), NAME: z.string() });
  const weak = { AUTH_SECRET: 'x'.repeat(32), NAME: 'name' };

  it('a program does not start with a secret that can be guessed, and does not show it', () => {
    const start = () => loadConfig(schema, { ...weak, NODE_ENV: 'production' });
    expect(start).toThrow('AUTH_SECRET: can be guessed');
    expect(start).not.toThrow(weak.AUTH_SECRET);
    expect(loadConfig(schema, { ...weak, AUTH_SECRET: STRONG, NODE_ENV: 'production' }).NAME).toBe('name');
  });

  it('and only there are such secrets refused, since tests may use them', () => {
    expect(loadConfig(schema, { ...weak, NODE_ENV: 'test' })).toMatchObject(weak);
  });
});
