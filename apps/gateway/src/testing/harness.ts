import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { newApiKey, newInstanceId, newModelId, newOrgId, newRefusal, orgTagOf } from '@tidegate/contracts';
import { createLimiterClient, createRunnerClient, type Model, type Principal } from '@tidegate/rpc';
import { createLineLog, createLogger, Registry } from '@tidegate/runtime';
import { eventually, startUpstream, type Upstream, type UpstreamHandler } from '@tidegate/testing';
import { Agent } from 'undici';
import { type AssembledGateway, createGateway } from '../assemble.ts';
import { createParser } from '../body/parse.ts';
import { readConfig } from '../config.ts';
import type { Gateway } from '../gateway.ts';
import { type GatewayServer, startServer } from '../http/server.ts';
import { createConnector } from '../upstream/connector.ts';
import { FakeLimiter } from './fake-limiter.ts';
import { FakeRunner } from './fake-runner.ts';

export interface HarnessOptions {
  readonly upstream?: UpstreamHandler;
  /** Additions to the gateway's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly images?: Gateway['images'];
  /** The addresses of the runners of further pools. */
  readonly pools?: Readonly<Record<string, string>>;
  readonly nowMs?: () => number;
  readonly tracing?: Gateway['tracing'];
}

export interface Harness extends AssembledGateway {
  /** Ends in `/v1`. */
  readonly url: string;
  readonly server: GatewayServer;
  readonly limiterServer: FakeLimiter;
  readonly runner: FakeRunner;
  readonly model: Upstream;
  readonly orgId: string;
  readonly apiKey: string;
  /** Lines of the gateway's log. */
  readonly logged: string[];
  readonly metrics: Registry;
  /** Adds another key to the same organization. */
  addKey(change?: Partial<Principal>): string;
  /** Resolves when the gateway knows the model. */
  publish(change?: Partial<Model>): Promise<Model & { modelId: string }>;
  /** Sends POST chat/completions with the harness's key. */
  complete(body: unknown, init?: RequestInit): Promise<Response>;
  stop(): Promise<void>;
}

/** A busy machine must not pass for a model that cannot be reached. */
const CONNECT_TIMEOUT_MS = 30_000;
/** A process that stood still for some seconds must not lose its requests with its lease. */
const NEVER_CUT_OFF_MS = 3_600_000;
const noImages: Gateway['images'] = {
  fetchAll: async () => newRefusal({ code: 'invalid_request', message: 'no images here' }),
};

export const wholeAnswer = (
  content = 'Hello',
  usage: unknown = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
) => ({
  id: 'up-1',
  object: 'chat.completion',
  model: 'up',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage,
});

/** A completion as its client writes it to the connection. */
export function postOf(apiKey: string, request: object): string {
  const body = JSON.stringify(request);
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Sends the same completion `count` times without waiting for answers, and reads none. */
export async function askUnread(
  { server, apiKey }: Pick<Harness, 'server' | 'apiKey'>,
  request: object,
  count: number,
): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  socket.pause();
  socket.write(postOf(apiKey, request).repeat(count));
  return socket;
}

export const hello = { model: 'text', messages: [{ role: 'user', content: 'Hi' }] };

/**
 * A gateway in which only the decisions of the limiter and the runner are fake. It publishes one
 * text model, `text`.
 */
export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const fakes = await startFakes(options);
  const { limiterServer, runner, model } = fakes;
  const config = configOf(options, fakes);
  const logged: string[] = [];
  const metrics = new Registry();
  const runners = new Map(
    config.RUNNER_ADDRESS.map(({ pool, address }) => [pool, createRunnerClient(address)]),
  );
  const parser = createParser();
  const upstream = new Agent({ connect: createConnector({ timeout: CONNECT_TIMEOUT_MS }) });
  const assembled = createGateway({
    config,
    ...logsTo(logged),
    metrics,
    upstream,
    parser,
    images: options.images ?? noImages,
    tracing: options.tracing ?? null,
    runners,
    connectLimiter: (peer) => createLimiterClient(peer),
    watchId: newInstanceId(),
    random: () => 0,
    nowMs: options.nowMs ?? Date.now,
    monotonicMs: () => performance.now(),
    cutOffMs: NEVER_CUT_OFF_MS,
  });
  const org = orgOf(fakes, assembled);
  const apiKey = org.addKey();
  assembled.watches.start();
  assembled.limiter.start();
  const server = await startServer(assembled.gateway);
  const url = `http://127.0.0.1:${server.port}/v1`;
  await org.publish();
  await eventually(() => assembled.limiter.ready && assembled.gateway.catalog.known);
  return {
    ...assembled,
    ...fakes,
    ...org,
    url,
    server,
    apiKey,
    logged,
    metrics,
    complete: (body, init = {}) => postCompletion(url, apiKey, body, init),
    stop: async () => {
      await server.drain(0);
      assembled.refusals.stop();
      assembled.limiter.stop();
      assembled.watches.stop();
      await upstream.destroy();
      await parser.close();
      for (const client of runners.values()) client.close();
      limiterServer.stop();
      runner.stop();
      await model.close();
    },
  };
}

type Fakes = Pick<Harness, 'limiterServer' | 'runner' | 'model'>;

const startFakes = async ({ upstream }: HarnessOptions): Promise<Fakes> => ({
  limiterServer: await new FakeLimiter().start(),
  runner: await new FakeRunner().start(),
  model: await startUpstream(upstream ?? ((_request, reply) => reply.json(wholeAnswer()))),
});

const configOf = ({ pools = {}, env }: HarnessOptions, { limiterServer, runner }: Fakes) =>
  readConfig({
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: '0',
    LIMITER_ADDRESSES: limiterServer.address,
    RUNNER_ADDRESS: [
      runner.address,
      ...Object.entries(pools).map(([pool, address]) => `${pool}=${address}`),
    ].join(','),
    RECONNECT_MS: '20',
    // A busy machine must not pass for a limiter that hangs.
    LIMITER_CALL_TIMEOUT_MS: '30000',
    LIMITER_SILENCE_MS: '10000',
    // Nor must an answer leave before its settlement is acknowledged.
    SETTLE_WAIT_MS: '60000',
    PRINCIPAL_TTL_MS: '3600000',
    ...env,
  });

function logsTo(logged: string[]) {
  const logging = {
    service: 'gateway',
    level: 'info',
    destination: { write: (line: string) => logged.push(line) },
  } as const;
  return { log: createLogger(logging), requestLog: createLineLog({ ...logging, nowMs: Date.now }) };
}

/** An organization and what is needed to give it keys and models. */
function orgOf(
  { limiterServer, runner, model }: Fakes,
  { gateway }: AssembledGateway,
): Pick<Harness, 'orgId' | 'addKey' | 'publish'> {
  const orgId = newOrgId();
  return {
    orgId,
    addKey(change = {}) {
      const { value, hash } = newApiKey(orgTagOf(orgId));
      const principal = {
        orgId,
        keyId: `key_${limiterServer.principals.size}`,
        allModels: true,
        imagesAllowed: true,
        ...change,
      };
      limiterServer.principals.set(hash.toString('hex'), principal);
      return value;
    },
    async publish(change = {}) {
      const published = {
        modelId: newModelId(),
        orgId,
        name: 'text',
        kind: 'text',
        mode: 'always_on',
        contextTokens: 4_096,
        publishedAtMs: 1_700_000_000_500,
        condition: 'CONDITION_RUNNING' as const,
        replicas: [{ replicaId: `${change.modelId ?? 'r'}-1`, baseUrl: `${model.url}/v1` }],
        upstreamModel: 'up',
        ...change,
      };
      runner.update(published);
      await eventually(() => gateway.catalog.get(published.modelId));
      return published;
    },
  };
}

const postCompletion = (url: string, apiKey: string, body: unknown, init: RequestInit): Promise<Response> =>
  fetch(`${url}/chat/completions`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...init.headers },
  });
