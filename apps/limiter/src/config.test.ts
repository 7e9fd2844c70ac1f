import { describe, expect, it } from '@jest/globals';
import { readConfig } from './config.ts';

const ENOUGH = { REDIS_URL: 'redis://127.0.0.1:6379', DATABASE_URL: 'postgresql://127.0.0.1/tidegate' };

describe('the configuration', () => {
  it('needs only its two stores', () => {
    expect(readConfig(ENOUGH)).toMatchObject({
      REDIS_PREFIX: 'tg:',
      REDIS_ANSWER_TIMEOUT_MS: 2_000,
      LIMITER_CLOCK_OFFSET_MS: 0,
    });
  });

  it('lets other machines in only with the tokens of services', () => {
    const open = { ...ENOUGH, LIMITER_HOST: '0.0.0.0' };
    expect(() => readConfig(open)).toThrow('SERVICE_TOKENS: is not set, and LIMITER_HOST');
    const token = 'x'.repeat(32);
    const { trust } = readConfig({ ...open, SERVICE_TOKENS: `gateway:${token}` });
    expect(trust.tokens).toEqual([{ service: 'gateway', token }]);
  });

  it('names every bad variable', () => {
    const bad = () => readConfig({ REDIS_URL: 'http://x', REDIS_PREFIX: '{tag}', LIMITER_PORT: 'many' });
    for (const name of ['REDIS_URL', 'REDIS_PREFIX', 'LIMITER_PORT', 'DATABASE_URL'])
      expect(bad).toThrow(name);
  });
});
