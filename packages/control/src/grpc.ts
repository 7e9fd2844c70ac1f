import type { Caller } from '@tidegate/runtime';
import type { Condition, ConditionNow, LimiterPort, RunnerPort } from './deps.ts';

const LIMITER_DEADLINE_MS = 3_000;
/** The limiter looks at every key in Redis. */
const FORGET_DEADLINE_MS = 30_000;
const RUNNER_DEADLINE_MS = 10_000;
/** For figures that are only shown: a screen does not wait long for a limiter or a runner. */
const SHOWN_DEADLINE_MS = 1_000;

export interface Closable {
  close(): void;
}

/**
 * Loads gRPC with the first call, because most operations do not need it. The command line starts
 * faster this way.
 */
const rpc = () => import('@tidegate/rpc');

/**
 * A client of the limiters at these addresses (`host:port`). A call goes to the limiter that
 * answered last. If it cannot be reached, the call tries the others. Connects with the first call.
 */
export function limiterOverGrpc(addresses: readonly string[], caller?: Caller): LimiterPort & Closable {
  type Rpc = Awaited<ReturnType<typeof rpc>>;
  type Client = ReturnType<Rpc['createLimiterClient']>;
  let clients: Client[] | undefined;
  let current = 0;
  const first = async <T>(call: (callUnary: Rpc['callUnary'], client: Client) => Promise<T>): Promise<T> => {
    const { callUnary, createLimiterClient } = await rpc();
    clients ??= addresses.map((address) => createLimiterClient(address, caller));
    let failure: unknown = new Error('no limiter address is configured');
    for (let tried = 0; tried < clients.length; tried++) {
      const at = current;
      try {
        return await call(callUnary, clients[at] as Client);
      } catch (error) {
        failure = error;
        // Unless a concurrent call has already moved on.
        if (current === at) current = (at + 1) % clients.length;
      }
    }
    throw failure;
  };
  const options = { deadlineMs: LIMITER_DEADLINE_MS };
  return {
    async refreshOrgs(orgIds) {
      await first((callUnary, client) => callUnary(client, 'refreshOrgs', { orgIds: [...orgIds] }, options));
    },
    async revokeKey({ orgId, keyId, keyHash }) {
      const request = { orgId, keyId, keyHash: Buffer.from(keyHash) };
      await first((callUnary, client) => callUnary(client, 'revokeKey', request, options));
    },
    async forgetOrg(orgId) {
      const patient = { deadlineMs: FORGET_DEADLINE_MS };
      await first((callUnary, client) => callUnary(client, 'forgetOrg', { orgId }, patient));
    },
    async month(orgId) {
      return first((callUnary, client) =>
        callUnary(client, 'getMonth', { orgId }, { deadlineMs: SHOWN_DEADLINE_MS }),
      );
    },
    async findRequest(orgId, admissionId) {
      const { state } = await first((callUnary, client) =>
        callUnary(client, 'findRequest', { orgId, admissionId }, { deadlineMs: SHOWN_DEADLINE_MS }),
      );
      return state === 'STATE_OPEN' ? 'open' : state === 'STATE_QUEUED' ? 'queued' : null;
    },
    close() {
      for (const client of clients ?? []) client.close();
    },
  };
}

/** A client of the runner at `address` (`host:port`). Connects with the first call. */
export function runnerOverGrpc(address: string, caller?: Caller): RunnerPort & Closable {
  type Rpc = Awaited<ReturnType<typeof rpc>>;
  type Client = ReturnType<Rpc['createRunnerClient']>;
  let client: Client | undefined;
  const connect = async (): Promise<{ callUnary: Rpc['callUnary']; client: Client }> => {
    const { callUnary, createRunnerClient } = await rpc();
    client ??= createRunnerClient(address, caller);
    return { callUnary, client };
  };
  const ask = async (method: 'refresh' | 'start' | 'stop', modelId: string): Promise<ConditionNow | null> => {
    const { callUnary, client } = await connect();
    const { condition, reason } = await callUnary(
      client,
      method,
      { modelId },
      { deadlineMs: RUNNER_DEADLINE_MS },
    );
    const known = CONDITIONS[condition];
    return known ? { condition: known, reason } : null;
  };
  const move = async (method: 'start' | 'stop', modelId: string): Promise<ConditionNow> => {
    const now = await ask(method, modelId);
    if (!now) throw new Error('the runner sent no condition');
    return now;
  };
  return {
    refresh: (modelId) => ask('refresh', modelId),
    start: (modelId) => move('start', modelId),
    stop: (modelId) => move('stop', modelId),
    async inFlight(orgId) {
      const { callUnary, client } = await connect();
      const options = { deadlineMs: SHOWN_DEADLINE_MS };
      const { models } = await callUnary(client, 'listActivity', { orgId }, options);
      return new Map(models.map(({ modelId, inFlight }) => [modelId, inFlight]));
    },
    close: () => client?.close(),
  };
}

const CONDITIONS: Record<string, Condition> = {
  CONDITION_STOPPED: 'stopped',
  CONDITION_STARTING: 'starting',
  CONDITION_RUNNING: 'running',
  CONDITION_ASLEEP: 'asleep',
  CONDITION_FAILED: 'failed',
};
