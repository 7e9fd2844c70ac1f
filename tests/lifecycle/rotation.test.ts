import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import { eventually, startUpstream, type Upstream } from '@tidegate/testing';
import { ctlVariables } from '../support/control.ts';
import { newKey, newOrg, post } from '../support/org.ts';
import { modelsOf, useStack } from '../support/stack.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CALLERS = 4;
const UPSTREAM_KEYS = ['sk-before', 'sk-meanwhile'];

const newSecretKey = () => randomBytes(32).toString('base64');
const [first, second, unrelated] = [newSecretKey(), newSecretKey(), newSecretKey()];

const dir = mkdtempSync(join(tmpdir(), 'tidegate-rotation-'));
const [keyFile, previousFile] = [join(dir, 'key'), join(dir, 'previous')];
/** Says what the runner's next start finds. */
function give(key: string, previous: string): void {
  writeFileSync(keyFile, key);
  writeFileSync(previousFile, previous);
}

let upstream: Upstream | undefined;
const stack = useStack(async () => {
  give(first, unrelated);
  upstream = await startUpstream(({ headers, path }, reply) => {
    const known = UPSTREAM_KEYS.some((key) => headers.authorization === `Bearer ${key}`);
    if (!known) return reply.json({ error: { message: 'wrong key' } }, { status: 401 });
    if (path.endsWith('/models')) return reply.json({ data: [{ id: 'before' }, { id: 'meanwhile' }] });
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return reply.json({ choices, usage });
  });
  const runner = { SECRET_KEY: '', SECRET_KEY_FILE: keyFile, SECRET_KEY_PREVIOUS_FILE: previousFile };
  return { demo: false, env: { runner } };
});
afterAll(async () => {
  await upstream?.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Runs ctl with keys of its own. */
async function ctl(keys: Record<string, string>, ...args: string[]): Promise<unknown> {
  const env = { ...process.env, ...ctlVariables(stack()), ...keys };
  const main = join(ROOT, 'apps/ctl/dist/main.js');
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args, '--json'], { env });
  return JSON.parse(stdout);
}

const publish = (secretKey: string, org: string, name: string) =>
  ctl(
    { SECRET_KEY: secretKey },
    ...['model', 'publish', '--org', org, '--name', name, '--kind', 'text', '--mode', 'always_on'],
    ...['--context', '100', '--url', `${upstream?.url}/v1`, '--upstream-key', `sk-${name}`],
  );

/** Calls these models without a pause until it is told to stop. Returns all statuses. */
function traffic(key: string, models: readonly string[]) {
  const statuses: number[] = [];
  let going = true;
  const call = async () => {
    for (let i = 0; going; i++) {
      const messages = [{ role: 'user', content: 'Hi' }];
      const body = { model: models[i % models.length], messages, max_tokens: 5 };
      const answer = await post(stack().info.gateway, key, body);
      await answer.text();
      statuses.push(answer.status);
    }
  };
  const callers = Array.from({ length: CALLERS }, call);
  /** Resolves after some more calls. */
  const more = async () => {
    const before = statuses.length;
    await eventually(() => statuses.length >= before + 5 * CALLERS);
  };
  const stop = async () => {
    going = false;
    await Promise.all(callers);
    return statuses;
  };
  return { more, stop };
}

describe('the secret key', () => {
  it('is replaced while models with upstream keys are called, and no request fails', async () => {
    const org = await newOrg(stack());
    const { key } = await newKey(stack(), org);
    const running = (names: readonly string[]) =>
      eventually(async () => {
        const models = await modelsOf(stack(), org);
        return models.length === names.length && models.every(({ condition }) => condition === 'running');
      });
    await publish(first, org, 'before');
    await running(['before']);
    const called = ['before'];
    const calls = traffic(key, called);
    await calls.more();

    give(second, first);
    await stack().restart('runner');
    await publish(second, org, 'meanwhile');
    await running(['before', 'meanwhile']);
    called.push('meanwhile');
    await calls.more();
    const keys = { SECRET_KEY: second, SECRET_KEY_PREVIOUS: first };
    expect(await ctl(keys, 'secrets', 'reseal')).toEqual({ resealed: 1, unchanged: 1, unreadable: [] });
    expect(await ctl(keys, 'secrets', 'reseal')).toEqual({ resealed: 0, unchanged: 2, unreadable: [] });

    give(second, unrelated);
    await stack().restart('runner');
    await running(called);
    await calls.more();
    const statuses = await calls.stop();
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });
});
