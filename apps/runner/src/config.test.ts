import { describe, expect, it } from '@jest/globals';
import { readConfig } from './config.ts';

const NEEDED = {
  DATABASE_URL: 'postgresql://127.0.0.1/tidegate',
  RUNNER_STATE_DIR: '/var/lib/tidegate',
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  SERVICE_TOKENS: `gateway:${'x'.repeat(32)}`,
};

const models = (env: Record<string, string>, uid: number) => readConfig({ ...NEEDED, ...env }, uid).modelUser;

describe('the environment of models', () => {
  const secrets = {
    ADMIN_PORT: '0',
    AUTH_SECRET: 'secret',
    AUTH_SECRET_FILE: '/run/secrets/auth',
    SERVICE_TOKENS: NEEDED.SERVICE_TOKENS,
    AWS_SECRET_ACCESS_KEY: 'of another program',
    HF_TOKEN: 'hf_1',
    NVIDIA_API_KEY: 'nvapi-1',
    HTTPS_PROXY: 'http://user:password@proxy',
  };
  const needed = {
    PATH: '/bin',
    LC_ALL: 'C',
    CUDA_VISIBLE_DEVICES: '0',
    HF_HOME: '/models',
    HOME: '/home/me',
  };

  it('has what model servers need, and nothing else that was not allowed', () => {
    expect(models({ ...secrets, ...needed }, 1_000).env).toEqual(needed);
  });

  it('has what the operator names, in full or by the beginning of the name', () => {
    const { env } = models({ ...secrets, VLLM_USE_V1: '1', RUNNER_MODEL_ENV: 'HF_TOKEN,VLLM_*' }, 1_000);
    expect(env).toEqual({ HF_TOKEN: 'hf_1', VLLM_USE_V1: '1' });
  });

  it("never has Tidegate's own variables", () => {
    expect(
      Object.keys(models({ ...secrets, RUNNER_MODEL_ENV: 'AUTH*,ADMIN*,SERVICE_*' }, 1_000).env),
    ).toEqual([]);
  });

  it.each(['SECRET_KEY', 'SECRET_KEY_FILE', 'REDIS_*', 'RUNNER_STATE_DIR'])(
    'never has %s: if the operator names it, the runner does not start',
    (name) => {
      expect(() => models({ RUNNER_MODEL_ENV: name }, 1_000)).toThrow(`RUNNER_MODEL_ENV: names ${name}`);
    },
  );
});

describe('the user of models', () => {
  it('is one of their own if the runner is root, with a home outside the folder of the records', () => {
    const { user, env } = models({ HOME: '/root' }, 0);
    expect(user?.uid).toBeGreaterThan(0);
    expect(env).toEqual({ HOME: '/var/lib/tidegate-models', USER: 'model', LOGNAME: 'model' });
  });

  it('is the named one, with its group and home', () => {
    const { user, env } = models({ RUNNER_MODEL_USER: 'nobody:0' }, 0);
    expect(user).toMatchObject({ uid: expect.any(Number), gid: 0 });
    expect(env).toMatchObject({ USER: 'nobody', HOME: user?.home });
    expect(models({ RUNNER_MODEL_USER: '1234', RUNNER_MODEL_HOME: '/m' }, 0)).toMatchObject({
      user: { uid: 1_234, gid: 1_234 },
      env: { HOME: '/m' },
    });
  });

  it.each([
    ['if the runner is not root', {}, 1_000],
    ['if it is set to root', { RUNNER_MODEL_USER: 'root' }, 0],
    ['if it is named', { RUNNER_MODEL_USER: '1000' }, 1_000],
  ])("is the runner's own %s", (_when, env, uid) => {
    expect(models(env, uid).user).toBeNull();
  });

  it('must exist, and be one that the runner can become: otherwise the runner does not start', () => {
    expect(() => models({ RUNNER_MODEL_USER: 'no-such-user' }, 0)).toThrow('names a user or group that');
    expect(() => models({ RUNNER_MODEL_USER: '1234' }, 1_000)).toThrow('only if the runner runs as root');
  });
});

describe('the runner', () => {
  it('unseals upstream keys under the current and the previous secret key', () => {
    const before = Buffer.alloc(32, 9);
    const { secretKeys } = readConfig({ ...NEEDED, SECRET_KEY_PREVIOUS: before.toString('base64') });
    expect(secretKeys.map((key) => Buffer.from(key).toString('base64'))).toEqual([
      NEEDED.SECRET_KEY,
      before.toString('base64'),
    ]);
  });

  it.each(['127.0.0.1', '0.0.0.0'])('does not listen on %s without the tokens of services', (RUNNER_HOST) => {
    const { SERVICE_TOKENS: _, ...withoutTokens } = NEEDED;
    expect(() => readConfig({ ...withoutTokens, RUNNER_HOST })).toThrow('SERVICE_TOKENS: is not set, and');
    expect(readConfig({ ...NEEDED, RUNNER_HOST }).trust.tokens).toHaveLength(1);
  });
});

describe('Kubernetes', () => {
  const kubernetes = (env: Record<string, string>) => readConfig({ ...NEEDED, ...env }, 1_000).kubernetes;

  it('is off unless it is set', () => {
    expect(kubernetes({})).toBeNull();
  });

  it('has an allow-list of namespaces', () => {
    expect(
      kubernetes({ RUNNER_KUBERNETES: '/etc/kubeconfig', RUNNER_KUBERNETES_NAMESPACES: 'gpu, models' }),
    ).toEqual({ access: '/etc/kubeconfig', namespaces: new Set(['gpu', 'models']) });
  });

  it.each([
    [{ RUNNER_KUBERNETES: 'in-cluster' }, 'RUNNER_KUBERNETES_NAMESPACES: is missing'],
    [{ RUNNER_KUBERNETES_NAMESPACES: 'gpu' }, 'RUNNER_KUBERNETES: is missing'],
    [
      { RUNNER_KUBERNETES: 'yes', RUNNER_KUBERNETES_NAMESPACES: 'gpu' },
      'RUNNER_KUBERNETES: must be in-cluster',
    ],
    [{ RUNNER_KUBERNETES: '/x', RUNNER_KUBERNETES_NAMESPACES: '*' }, 'must be names of namespaces'],
    [
      { RUNNER_KUBERNETES: 'in-cluster', RUNNER_KUBERNETES_NAMESPACES: 'gpu' },
      'but the runner is not in a pod',
    ],
  ])('is refused with %j', (env, message) => {
    expect(() => kubernetes(env as Record<string, string>)).toThrow(message);
  });
});
