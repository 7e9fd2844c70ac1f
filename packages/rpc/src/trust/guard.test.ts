import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, credentials, type MethodDefinition, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CALLER_NAMES, type CallerName } from '@tidegate/contracts';
import { type LimiterHandlers, limiterService, type RunnerHandlers, runnerService } from '../index.ts';
import { type Serving, serveLimiter, serveRunner } from '../serve.ts';
import { sendToken } from './guard.ts';

type Method = MethodDefinition<object, object>;

/** All calls, and who may make each. Whoever is not named here is refused. */
const MAY_CALL: Readonly<Record<string, readonly CallerName[]>> = {
  '/tidegate.limiter.v1.Limiter/Session': ['gateway'],
  '/tidegate.limiter.v1.Limiter/ConfirmSettlements': ['metering'],
  '/tidegate.limiter.v1.Limiter/RefreshOrgs': ['console', 'ctl'],
  '/tidegate.limiter.v1.Limiter/RevokeKey': ['console', 'ctl'],
  '/tidegate.limiter.v1.Limiter/ForgetOrg': ['console', 'ctl'],
  '/tidegate.limiter.v1.Limiter/GetMonth': ['console', 'ctl'],
  '/tidegate.limiter.v1.Limiter/FindRequest': ['console', 'ctl'],
  '/tidegate.runner.v1.Runner/Watch': ['gateway'],
  '/tidegate.runner.v1.Runner/Wake': ['gateway'],
  '/tidegate.runner.v1.Runner/Start': ['console', 'ctl'],
  '/tidegate.runner.v1.Runner/Stop': ['console', 'ctl'],
  '/tidegate.runner.v1.Runner/Refresh': ['console', 'ctl'],
  '/tidegate.runner.v1.Runner/CheckWorkload': ['console', 'ctl'],
  '/tidegate.runner.v1.Runner/ListActivity': ['console', 'ctl'],
  '/tidegate.runner.v1.Runner/GetRoom': ['console', 'ctl'],
  '/tidegate.runner.v1.Runner/Inspect': ['console', 'ctl'],
};

const PROTO = join(import.meta.dirname, '../../../../proto');

const tokenOf = (service: CallerName, nth = 1): string => `${service}-token-${nth}`.padEnd(32, '.');
const LIMITER = Object.values(limiterService) as Method[];
const RUNNER = Object.values(runnerService) as Method[];
const METHODS = [...LIMITER, ...RUNNER].map((method) => ({ ...method, name: method.path }));

const reached: string[] = [];
const logged: object[] = [];
const servers: Serving[] = [];

beforeAll(async () => {
  const options = {
    host: '127.0.0.1',
    port: 0,
    channelOptions: {},
    trust: {
      tokens: [1, 2].flatMap((nth) =>
        CALLER_NAMES.map((service) => ({ service, token: tokenOf(service, nth) })),
      ),
      tls: null,
    },
    log: { warn: (fields: object) => logged.push(fields) },
  };
  servers.push(await serveLimiter({ ...options, handlers: answering(LIMITER) as LimiterHandlers }));
  servers.push(await serveRunner({ ...options, handlers: answering(RUNNER) as RunnerHandlers }));
});
afterAll(() => {
  for (const { server } of servers) server.forceShutdown();
});

/** Handlers that note each call that reaches them. */
function answering(methods: readonly Method[]): object {
  type Call = { on(event: 'data', read: () => void): void; end(): void };
  const answer = (path: string) => (call: Call, callback?: (error: null, response: object) => void) => {
    reached.push(path);
    if (callback) return callback(null, {});
    call.on('data', () => {});
    call.end();
  };
  return Object.fromEntries(methods.map(({ path }) => [path.split('/').at(-1), answer(path)]));
}

/** Makes a call. Resolves to its status. */
async function made(method: Method, token?: string): Promise<{ code: status; details: string }> {
  const server = servers[LIMITER.some(({ path }) => path === method.path) ? 0 : 1];
  const interceptors = token === undefined ? [] : [sendToken(token)];
  const client = new Client(`127.0.0.1:${server?.port}`, credentials.createInsecure(), { interceptors });
  const { path, requestSerialize, responseDeserialize } = method;
  try {
    return await new Promise((resolve) => {
      const ignore = () => {};
      if (!method.requestStream) {
        client
          .makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, ignore)
          .on('status', resolve);
        return;
      }
      const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
      stream.on('status', resolve).on('error', ignore).on('data', ignore);
      stream.write({});
    });
  } finally {
    client.close();
  }
}

const answeredTo = async (method: Method, token?: string): Promise<status> => {
  const before = reached.length;
  const { code } = await made(method, token);
  expect(reached.length - before).toBe(code === status.OK ? 1 : 0);
  return code;
};

describe('a call between services', () => {
  it('is one of those tested here, whichever file in proto defines it', () => {
    const defined = readdirSync(PROTO).flatMap((file) => {
      const text = readFileSync(join(PROTO, file), 'utf8');
      return [...text.matchAll(/^\s*rpc (\w+)/gm)].map(([, method]) => method);
    });
    expect(METHODS.map(({ path }) => path.split('/').at(-1)).sort()).toEqual(defined.sort());
  });

  it('has a rule that says who may make it', () => {
    expect(METHODS.map(({ path }) => path).sort()).toEqual(Object.keys(MAY_CALL).sort());
  });

  it.each(METHODS)(
    'to $name is answered only to those who may make it, and reaches no handler otherwise',
    async (method) => {
      expect(await answeredTo(method)).toBe(status.UNAUTHENTICATED);
      expect(await answeredTo(method, tokenOf('gateway', 3))).toBe(status.UNAUTHENTICATED);
      expect(await answeredTo(method, tokenOf('gateway').slice(1))).toBe(status.UNAUTHENTICATED);
      for (const service of CALLER_NAMES) {
        const allowed = MAY_CALL[method.path]?.includes(service);
        const answer = allowed ? status.OK : status.PERMISSION_DENIED;
        expect([service, await answeredTo(method, tokenOf(service))]).toEqual([service, answer]);
      }
    },
  );

  it('is answered under the old and the new token of a service, so that tokens can be replaced', async () => {
    const { GetMonth } = limiterService;
    for (const nth of [1, 2]) expect(await answeredTo(GetMonth, tokenOf('console', nth))).toBe(status.OK);
  });

  it('that is refused says what is missing, to the caller and in the log, and shows no token', async () => {
    const { RevokeKey } = limiterService;
    const { details: none } = await made(RevokeKey);
    const { details: unknown } = await made(RevokeKey, 'hunter2');
    const { details: denied } = await made(RevokeKey, tokenOf('metering'));
    expect(none).toContain('set SERVICE_TOKEN');
    expect(unknown).toContain("not in the server's SERVICE_TOKENS");
    expect(denied).toBe(`the service metering may not call ${RevokeKey.path}`);
    for (const reason of [none, unknown, denied])
      expect(logged).toContainEqual({ peer: '127.0.0.1', reason });
    expect(JSON.stringify(logged)).not.toMatch(/hunter2|-token-/);
  });
});
