import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ConfigError, loadConfig } from './config.ts';

const schema = z.object({
  PORT: z.coerce.number().int().min(1).max(65_535),
  REDIS_URL: z.url(),
  LEVEL: z.enum(['info', 'debug']).default('info'),
});

const errorOf = (env: Record<string, string>): ConfigError => {
  try {
    loadConfig(schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
  }
  throw new Error('no ConfigError was thrown');
};

describe('loadConfig', () => {
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

  it('takes an empty variable for one that is not set', () => {
    expect(errorOf({ PORT: '1', REDIS_URL: '' }).message).toMatch(/REDIS_URL: is not set/);
    expect(loadConfig(schema, { PORT: '1', REDIS_URL: 'redis://h:1', LEVEL: '' }).LEVEL).toBe('info');
  });

  it('shows no value: a secret in the wrong variable stays secret', () => {
    const error = errorOf({ PORT: 'hunter2', REDIS_URL: 'hunter2', LEVEL: 'hunter2' });
    expect(error.message).not.toContain('hunter2');
  });
});
