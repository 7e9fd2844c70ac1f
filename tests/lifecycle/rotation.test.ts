import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CALLER_NAMES } from '@tidegate/contracts';
import { limiterOverGrpc } from '@tidegate/control';
import { callerOf, type ServiceIdentity } from '@tidegate/runtime';
import { eventually, PATIENT_CALLS, startUpstream, type Upstream } from '@tidegate/testing';
import { ctlVariables } from '../support/control.ts';
import { newKey, newOrg, post, publish as publishOpen } from '../support/org.ts';
import { modelsOf, useStack } from '../support/stack.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CERTIFICATES = join(ROOT, 'tests/fixtures/tls/services');
const CALLERS = 4;
/**
 * Often enough for many calls during a restart, but not so often that they slow the restarts down.
 */
const CALL_EVERY_MS = 100;
/** A gateway that is told to stop finishes its answers, however slow the machine is. */
const STOP_TIMEOUT_MS = 60_000;
/** Many services start again, one after the other. */
const TEST_TIMEOUT_MS = 600_000;
const UPSTREAM_KEYS = ['sk-before', 'sk-meanwhile'];

const newToken = () => randomBytes(32).toString('base64url');
const newSecretKey = () => randomBytes(32).toString('base64');
const [first, second, unrelated] = [newSecretKey(), newSecretKey(), newSecretKey()];

const dir = mkdtempSync(join(tmpdir(), 'tidegate-rotation-'));
const [keyFile, previousFile] = [join(dir, 'key'), join(dir, 'previous')];
const [tokensFile, gatewayTokenFile] = [join(dir, 'tokens'), join(dir, 'gateway-token')];
const serviceTokens = Object.fromEntries(CALLER_NAMES.map((service) => [service, newToken()]));
const [oldToken = '', newerToken] = [serviceTokens.gateway, newToken()];

/** For mutual TLS between all services, and with those that call them from here. */
const tlsOf = (pair: 'one' | 'two') => ({
  GRPC_TLS_CA_FILE: join(CERTIFICATES, 'ca.pem'),
  GRPC_TLS_CERT_FILE: join(CERTIFICATES, `${pair}.pem`),
  GRPC_TLS_KEY_FILE: join(CERTIFICATES, `${pair}.key`),
});

/** Sets which gateway tokens limiters and runners find at their next start. */
function accept(...ofGateways: readonly string[]): void {
  const others = Object.entries(serviceTokens).filter(([service]) => service !== 'gateway');
  const tokens = [...others, ...ofGateways.map((token) => ['gateway', token])];
  writeFileSync(tokensFile, tokens.map((pair) => pair.join(':')).join('\n'));
}

/** Sets which secret keys the runner finds at its next start. */
function give(key: string, previous: string): void {
  writeFileSync(keyFile, key);
  writeFileSync(previousFile, previous);
}

let upstream: Upstream | undefined;
const stack = useStack(async () => {
  give(first, unrelated);
  accept(oldToken);
  writeFileSync(gatewayTokenFile, oldToken);
  const dataDir = join(dir, 'stack');
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'secrets.json'), JSON.stringify({ serviceTokens }));
  upstream = await startUpstream(({ headers, path }, reply) => {
    const known =
      path.startsWith('/open') || UPSTREAM_KEYS.some((key) => headers.authorization === `Bearer ${key}`);
    if (!known) return reply.json({ error: { message: 'wrong key' } }, { status: 401 });
    if (path.endsWith('/models')) return reply.json({ data: [{ id: 'before' }, { id: 'meanwhile' }] });
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return reply.json({ choices, usage });
  });
  const limiter = { ...tlsOf('one'), SERVICE_TOKENS: '', SERVICE_TOKENS_FILE: tokensFile };
  const gateway = { ...tlsOf('two'), SERVICE_TOKEN: '', SERVICE_TOKEN_FILE: gatewayTokenFile };
  const keys = { SECRET_KEY: '', SECRET_KEY_FILE: keyFile, SECRET_KEY_PREVIOUS_FILE: previousFile };
  const env = { limiter, gateway, metering: tlsOf('two'), runner: { ...limiter, ...keys } };
  return { demo: false, dataDir, scale: { gateway: 2, limiter: 2 }, env, stopTimeoutMs: STOP_TIMEOUT_MS };
});
beforeAll(() => {
  const file = join(stack().dataDir, 'env.json');
  const ofCtl = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...ofCtl, ...tlsOf('two') }));
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

async function call(gateway: string, key: string, model: string | undefined): Promise<number> {
  const body = { model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 };
  const answer = await post(gateway, key, body);
  await answer.text();
  return answer.status;
}

/**
 * Calls these models steadily until it is told to stop. Returns all statuses.
 *
 * @param gateways those that are called, in turn; the list may change meanwhile
 */
function traffic(
  key: string,
  models: readonly string[],
  gateways: readonly string[] = [stack().info.gateway],
) {
  const statuses: number[] = [];
  let going = true;
  const caller = async () => {
    for (let i = 0; going; i++) {
      const next = after(CALL_EVERY_MS);
      statuses.push(await call(gateways[i % gateways.length] ?? '', key, models[i % models.length]));
      await next;
    }
  };
  const callers = Array.from({ length: CALLERS }, caller);
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

/** The error of a call to a limiter that only ctl and consoles may make. Empty: it is answered. */
async function errorFor(caller: ServiceIdentity): Promise<string> {
  const [address = ''] = (ctlVariables(stack()).LIMITER_ADDRESSES ?? '').split(',');
  const limiter = limiterOverGrpc([address], caller, { deadlines: PATIENT_CALLS });
  try {
    return await limiter.refreshOrgs([]).then(() => '', String);
  } finally {
    limiter.close();
  }
}

describe('a limiter with mutual TLS', () => {
  it('asks every caller for a certificate and for a token', async () => {
    const { token, tls } = callerOf(ctlVariables(stack()));
    expect(await errorFor({ token, tls })).toBe('');
    expect(await errorFor({ token, tls: null })).toContain('UNAVAILABLE');
    expect(await errorFor({ token: null, tls })).toContain('UNAUTHENTICATED');
  });
});

describe('the secret key', () => {
  it(
    'is replaced while models with upstream keys are called, and no request fails',
    async () => {
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
      const told = { unreadable: [], runnerReached: true };
      expect(await ctl(keys, 'secrets', 'reseal')).toMatchObject({ resealed: 1, unchanged: 1, ...told });
      expect(await ctl(keys, 'secrets', 'reseal')).toMatchObject({ resealed: 0, unchanged: 2, ...told });

      give(second, unrelated);
      await stack().restart('runner');
      await running(called);
      await calls.more();
      const statuses = await calls.stop();
      expect(statuses.filter((status) => status !== 200)).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );
});

describe("the gateways' token", () => {
  const refusal = (token: string) => errorFor({ ...callerOf(tlsOf('two')), token });

  it(
    'is replaced across two limiters, the runner and two gateways, and no request fails',
    async () => {
      const org = await newOrg(stack());
      const { key } = await newKey(stack(), org);
      const model = await publishOpen(stack(), org, `${upstream?.url}/open/v1`, { name: 'before' });
      const called = [...stack().info.gateways];
      for (const gateway of called) await eventually(async () => (await call(gateway, key, model)) === 200);
      const calls = traffic(key, [model], called);
      const restart = async (...names: readonly string[]) => {
        for (const name of names) {
          await calls.more();
          await stack().restart(name);
        }
        await calls.more();
      };
      const servers = ['limiter', 'limiter-2', 'runner'];

      accept(oldToken, newerToken);
      await restart(...servers);
      writeFileSync(gatewayTokenFile, newerToken);
      for (const name of ['gateway', 'gateway-2']) {
        // As a proxy does, callers call the other one meanwhile.
        const away = called.shift() ?? '';
        await restart(name);
        called.push(away);
      }
      accept(newerToken);
      await restart(...servers);

      const statuses = await calls.stop();
      expect(statuses.filter((answered) => answered !== 200)).toEqual([]);
      expect(await refusal(oldToken)).toContain("not in the server's SERVICE_TOKENS");
      expect(await refusal(newerToken)).toContain('the service gateway may not call');
    },
    TEST_TIMEOUT_MS,
  );
});
