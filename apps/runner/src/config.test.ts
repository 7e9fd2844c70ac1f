import { describe, expect, it } from '@jest/globals';
import { readConfig } from './config.ts';

const NEEDED = {
  DATABASE_URL: 'postgresql://127.0.0.1/tidegate',
  RUNNER_STATE_DIR: '/var/lib/tidegate',
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
};

describe('the environment of models', () => {
  it('has no variable of the runner or of another service, and no path of a secret', () => {
    const others = {
      ADMIN_PORT: '0',
      AUTH_SECRET: 'secret',
      AUTH_SECRET_FILE: '/run/secrets/auth',
      REDIS_URL_FILE: '/run/secrets/redis',
      OIDC_CLIENT_SECRET: 'secret',
      SERVICE_TOKENS: `gateway:${'x'.repeat(32)}`,
      SERVICE_TOKEN_FILE: '/run/secrets/token',
    };
    const { modelEnv } = readConfig({ ...NEEDED, ...others, PATH: '/bin', HF_TOKEN_FILE: '/token' });
    expect(modelEnv).toEqual({ PATH: '/bin', HF_TOKEN_FILE: '/token' });
  });
});

describe('the runner', () => {
  it('lets other machines in only with the tokens of services', () => {
    const open = { ...NEEDED, RUNNER_HOST: '0.0.0.0' };
    expect(() => readConfig(open)).toThrow('SERVICE_TOKENS: is not set, and RUNNER_HOST');
    expect(readConfig({ ...open, SERVICE_TOKENS: `ctl:${'x'.repeat(32)}` }).trust.tokens).toHaveLength(1);
  });
});
