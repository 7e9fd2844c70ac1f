import { callUnary, createLimiterClient, createRunnerClient } from '@tidegate/rpc';
import type { Condition, ConditionNow, LimiterPort, RunnerPort } from './deps.ts';

const LIMITER_DEADLINE_MS = 3_000;
const RUNNER_DEADLINE_MS = 10_000;

export interface Closable {
  close(): void;
}

/**
 * The limiters behind these addresses (`host:port`): a call goes to the first, then to each next while one cannot be
 * reached. Connects with the first call.
 */
export function limiterOverGrpc(addresses: readonly string[]): LimiterPort & Closable {
  const clients = addresses.map(createLimiterClient);
  type Client = (typeof clients)[number];
  const first = async <T>(call: (client: Client) => Promise<T>): Promise<T> => {
    let failure: unknown = new Error('no limiter address is configured');
    for (const client of clients) {
      try {
        return await call(client);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  };
  const options = { deadlineMs: LIMITER_DEADLINE_MS };
  return {
    async refreshOrgs(orgIds) {
      await first((client) => callUnary(client, 'refreshOrgs', { orgIds: [...orgIds] }, options));
    },
    async revokeKey({ orgId, keyId, keyHash }) {
      const request = { orgId, keyId, keyHash: Buffer.from(keyHash) };
      await first((client) => callUnary(client, 'revokeKey', request, options));
    },
    async month(orgId) {
      return first((client) => callUnary(client, 'getMonth', { orgId }, options));
    },
    close() {
      for (const client of clients) client.close();
    },
  };
}

/** The runner at `address` (`host:port`). Connects with the first call. */
export function runnerOverGrpc(address: string): RunnerPort & Closable {
  const client = createRunnerClient(address);
  const ask = async (method: 'refresh' | 'start' | 'stop', modelId: string): Promise<ConditionNow> => {
    const { condition, reason } = await callUnary(
      client,
      method,
      { modelId },
      { deadlineMs: RUNNER_DEADLINE_MS },
    );
    return { condition: conditionOf(condition), reason };
  };
  return {
    refresh: (modelId) => ask('refresh', modelId),
    start: (modelId) => ask('start', modelId),
    stop: (modelId) => ask('stop', modelId),
    close: () => client.close(),
  };
}

const CONDITIONS: Record<string, Condition> = {
  CONDITION_STOPPED: 'stopped',
  CONDITION_STARTING: 'starting',
  CONDITION_RUNNING: 'running',
  CONDITION_ASLEEP: 'asleep',
  CONDITION_FAILED: 'failed',
};

function conditionOf(name: string): Condition {
  const condition = CONDITIONS[name];
  if (!condition) throw new Error(`the runner answered ${name}`);
  return condition;
}
