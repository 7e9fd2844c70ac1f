import { type Condition, LOCAL_POOL } from '@tidegate/contracts';
import type { PeerClients } from '@tidegate/rpc';
import type { PoolAddress, ServiceIdentity } from '@tidegate/runtime';
import {
  type ConditionNow,
  type LimiterPort,
  type PoolActivity,
  type RunnerPort,
  usualPool,
} from './deps.ts';

const LIMITER_DEADLINE_MS = 3_000;
/** The limiter looks at every key in Redis. */
const FORGET_DEADLINE_MS = 30_000;
const RUNNER_DEADLINE_MS = 10_000;
/** The runner asks a server several questions. */
const INSPECT_DEADLINE_MS = 20_000;
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
 * A client of the limiters at these addresses (`host:port`). A call goes to one that did not fail
 * before. If it cannot be reached, the call tries the others. Connects with the first call.
 */
export function limiterOverGrpc(
  addresses: readonly string[],
  caller?: ServiceIdentity,
  random: () => number = Math.random,
  shownDeadlineMs = SHOWN_DEADLINE_MS,
): LimiterPort & Closable {
  type Rpc = Awaited<ReturnType<typeof rpc>>;
  type Client = ReturnType<Rpc['createLimiterClient']>;
  let clients: PeerClients<Client> | undefined;
  const first = async <T>(call: (callUnary: Rpc['callUnary'], client: Client) => Promise<T>): Promise<T> => {
    const { callUnary, createLimiterClient, Peers, PeerClients } = await rpc();
    clients ??= new PeerClients({
      peers: new Peers({ addresses, random, nowMs: () => performance.now() }),
      connect: (peer) => createLimiterClient(peer, caller),
    });
    return clients.call((client) => call(callUnary, client));
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
        callUnary(client, 'getMonth', { orgId }, { deadlineMs: shownDeadlineMs }),
      );
    },
    async findRequest(orgId, admissionId) {
      const { state } = await first((callUnary, client) =>
        callUnary(client, 'findRequest', { orgId, admissionId }, { deadlineMs: shownDeadlineMs }),
      );
      return state === 'STATE_OPEN' ? 'open' : state === 'STATE_QUEUED' ? 'queued' : null;
    },
    close: () => clients?.close(),
  };
}

/**
 * A client of the runners that lead their pools. Connects with the first call.
 *
 * @param addresses where each pool's runners are; a text is the address of the pool `local`
 */
export function runnerOverGrpc(
  addresses: string | readonly PoolAddress[],
  caller?: ServiceIdentity,
): RunnerPort & Closable {
  type Rpc = Awaited<ReturnType<typeof rpc>>;
  type Client = ReturnType<Rpc['createRunnerClient']>;
  const byPool = new Map(
    typeof addresses === 'string'
      ? [[LOCAL_POOL, addresses]]
      : addresses.map(({ pool, address }) => [pool, address]),
  );
  const pools = [...byPool.keys()];
  const clients = new Map<string, Client>();
  const connect = async (pool: string): Promise<{ callUnary: Rpc['callUnary']; client: Client }> => {
    const { callUnary, createRunnerClient } = await rpc();
    const address = byPool.get(pool);
    if (address === undefined) throw new Error(`RUNNER_ADDRESS names no runners of the pool "${pool}"`);
    const client = clients.get(pool) ?? createRunnerClient(address, caller);
    clients.set(pool, client);
    return { callUnary, client };
  };
  const ask = async (
    method: 'refresh' | 'start' | 'stop',
    modelId: string,
    pool: string,
  ): Promise<ConditionNow | null> => {
    const { callUnary, client } = await connect(pool);
    const options = { deadlineMs: RUNNER_DEADLINE_MS };
    const { condition, reason } = await callUnary(client, method, { modelId }, options);
    const known = CONDITIONS[condition];
    return known ? { condition: known, reason } : null;
  };
  const move = async (method: 'start' | 'stop', modelId: string, pool: string): Promise<ConditionNow> => {
    const now = await ask(method, modelId, pool);
    if (!now) throw new Error('the runner sent no condition');
    return now;
  };
  const activityOf = async (pool: string, orgId: string): Promise<[string, PoolActivity]> => {
    const { callUnary, client } = await connect(pool);
    const options = { deadlineMs: SHOWN_DEADLINE_MS };
    const { models, replicas } = await callUnary(client, 'listActivity', { orgId }, options);
    const inFlight = new Map(models.map((model) => [model.modelId, model.inFlight]));
    return [pool, { inFlight, replicas: new Map(replicas.map(({ modelId, ...count }) => [modelId, count])) }];
  };
  return {
    pools,
    async refresh(modelId, pool) {
      if (pool !== null) return ask('refresh', modelId, pool);
      const answers = await Promise.all(pools.map((one) => ask('refresh', modelId, one)));
      return answers.find((answer) => answer !== null) ?? null;
    },
    start: (modelId, pool) => move('start', modelId, pool),
    stop: (modelId, pool) => move('stop', modelId, pool),
    async inspect(server) {
      const { callUnary, client } = await connect(usualPool(pools));
      return callUnary(client, 'inspect', server, { deadlineMs: INSPECT_DEADLINE_MS });
    },
    async checkWorkload({ namespace, kind, name, service }, pool) {
      const { callUnary, client } = await connect(pool);
      const request = { namespace, kind, name, service };
      return (await callUnary(client, 'checkWorkload', request, { deadlineMs: RUNNER_DEADLINE_MS })).problem;
    },
    async activity(orgId) {
      const asked = await Promise.allSettled(pools.map((pool) => activityOf(pool, orgId)));
      const answered = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      if (answered.length > 0) return new Map(answered);
      throw asked.find((one) => one.status === 'rejected')?.reason;
    },
    close() {
      for (const client of clients.values()) client.close();
    },
  };
}

const CONDITIONS: Record<string, Condition> = {
  CONDITION_STOPPED: 'stopped',
  CONDITION_STARTING: 'starting',
  CONDITION_RUNNING: 'running',
  CONDITION_ASLEEP: 'asleep',
  CONDITION_FAILED: 'failed',
};
