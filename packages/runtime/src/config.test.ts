import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ConfigError, loadConfig, secret } from './config.ts';

const schema = z.object({
  PORT: z.coerce.number().int().min(1).max(65_535),
  REDIS_URL: z.url(),
  LEVEL: z.enum(['info', 'debug']).default('info'),
});

const errorOf = (env: Record<string, string>, of: z.ZodObject = schema): ConfigError => {
  try {
    loadConfig(of, env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
  }
  throw new Error('no ConfigError was thrown');
};

describe('loadConfig', () => {
  it('derives further members, and says what is wrong with them along with everything else', () => {
    const derive = {
      origin: ({ REDIS_URL }: z.output<typeof schema>) => new URL(REDIS_URL).origin,
      even: ({ PORT }: z.output<typeof schema>) => {
        if (PORT % 2 > 0) throw new ConfigError([{ variable: 'PORT', reason: 'must be even' }]);
        return true;
      },
    };
    const env = { PORT: '80', REDIS_URL: 'http://h:1' };
    expect(loadConfig(schema, env, derive)).toMatchObject({ origin: 'http://h:1', even: true });
    const start = (changed: Record<string, string>) => () =>
      loadConfig(schema, { ...env, ...changed }, derive);
    expect(start({ PORT: '81', LEVEL: 'x' })).toThrow(/LEVEL: .*\n.*PORT: must be even/);
    // A member derived from a wrong variable is not reported as well.
    expect(start({ PORT: '81', REDIS_URL: 'x' })).toThrow(
      /^Bad configuration:\n {2}REDIS_URL: .*\n {2}PORT: must be even$/,
    );
    expect(start({ PORT: '-1' })).toThrow(/^Bad configuration:\n {2}PORT: .*$/);
  });

  it('gives typed values and defaults', () => {
    expect(loadConfig(schema, { PORT: '80', REDIS_URL: 'redis://h:1', OTHER: 'x' })).toEqual({
      PORT: 80,
      REDIS_URL: 'redis://h:1',
      LEVEL: 'info',
    });
  });

  it('names every bad variable at once, and why', () => {
    const error = errorOf({ PORT: '70000', LEVEL: 'loud' });
    expect(error.variables).toEqual(['PORT', 'REDIS_URL', 'LEVEL']);
    expect(error.message).toMatch(/PORT: .*65535/);
    expect(error.message).toMatch(/REDIS_URL: is not set/);
    expect(error.message).toMatch(/LEVEL: .*debug/);
  });

  it('treats an empty variable as one that is not set', () => {
    expect(errorOf({ PORT: '1', REDIS_URL: '' }).message).toMatch(/REDIS_URL: is not set/);
    expect(loadConfig(schema, { PORT: '1', REDIS_URL: 'redis://h:1', LEVEL: '' }).LEVEL).toBe('info');
  });

  it('shows no value: a secret in the wrong variable stays secret', () => {
    const error = errorOf({ PORT: 'hunter2', REDIS_URL: 'hunter2', LEVEL: 'hunter2' });
    expect(error.message).not.toContain('hunter2');
  });
});

describe('a secret', () => {
  const secrets = z.object({
    KEY: secret(z.string().regex(/^k/, 'must start with k')),
    TOKEN: secret(z.string().optional()),
    NAME: z.string().default('none'),
  });
  let dir: string;
  const file = (name: string, content: string | Buffer): string => {
    const path = join(dir, name);
    writeFileSync(path, content);
    return path;
  };
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'tidegate-secrets-'));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('may come in a file, whose last newline is not part of it', () => {
    const env = { KEY_FILE: file('key', 'k1\nk2\r\n'), TOKEN_FILE: file('token', ' t ') };
    expect(loadConfig(secrets, env)).toEqual({ KEY: 'k1\nk2', TOKEN: ' t ', NAME: 'none' });
    expect(loadConfig(secrets, { KEY: 'k', TOKEN_FILE: '' })).toEqual({ KEY: 'k', NAME: 'none' });
  });

  it('must not come both ways', () => {
    const { message } = errorOf({ KEY: 'khunter2', KEY_FILE: file('both', 'khunter2') }, secrets);
    expect(message).toBe('Bad configuration:\n  KEY_FILE: is set, and so is KEY: unset one of them');
  });

  it('that cannot be read is reported by its variable, without its content, along with everything else that is wrong', () => {
    const [missing, empty] = [join(dir, 'missing'), file('empty', '\n')];
    expect(errorOf({ KEY_FILE: missing, TOKEN_FILE: dir }, secrets).message).toBe(
      'Bad configuration:\n  KEY_FILE: names a file that cannot be read (ENOENT)\n  TOKEN_FILE: names a file that cannot be read (EISDIR)',
    );
    const { message, variables } = errorOf({ TOKEN_FILE: empty }, secrets);
    expect(message).toContain('TOKEN_FILE: names an empty file');
    const latin1 = file('latin1', Buffer.from('kwörd', 'latin1'));
    expect(errorOf({ KEY_FILE: latin1 }, secrets).message).toContain(
      'KEY_FILE: names a file that is not UTF-8',
    );
    expect(variables).toEqual(['TOKEN_FILE', 'KEY']);
  });

  it('that is bad is not shown when it comes in a file either', () => {
    const { message } = errorOf({ KEY_FILE: file('bad', 'hunter2') }, secrets);
    expect(message).toBe('Bad configuration:\n  KEY: must start with k');
  });

  it('is the only kind of variable that is looked for in a file', () => {
    const env = { KEY: 'k', NAME_FILE: file('name', 'other') };
    expect(loadConfig(secrets, env).NAME).toBe('none');
  });
});
