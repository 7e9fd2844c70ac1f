import { conditionFromWire } from '@tidegate/contracts';
import type { PoolAddress, ServiceIdentity } from '@tidegate/runtime';
import type { ConditionNow, PoolActivity, RunnerPort } from '../deps.ts';
import { type Closable, DEADLINES, type Deadlines, type Rpc, rpc } from './rpc.ts';

/** To inspect a server, the runner sends it several requests. */
const INSPECT_DEADLINE_MS = 20_000;

type Client = ReturnType<Rpc['createRunnerClient']>;

/**
 * A client of the runners that lead their pools. Connects with the first call.
 *
 * @param addresses where each pool's runners are
 */
export function runnerOverGrpc(
  addresses: readonly PoolAddress[],
  caller?: ServiceIdentity,
  { deadlines = DEADLINES }: { readonly deadlines?: Deadlines } = {},
): RunnerPort & Closable {
  const runners = new Runners(addresses, caller, deadlines);
  const { pools } = runners;
  return {
    pools,
    async refresh(modelId, pool) {
      if (pool !== null) return runners.ask('refresh', modelId, pool);
      const answers = await Promise.all(pools.map((one) => runners.ask('refresh', modelId, one)));
      return answers.find((answer) => answer !== null) ?? null;
    },
    start: (modelId, pool) => runners.move('start', modelId, pool),
    stop: (modelId, pool) => runners.move('stop', modelId, pool),
    inspect: (server, pool) =>
      runners.call(pool, (callUnary, client) =>
        callUnary(client, 'inspect', server, { deadlineMs: INSPECT_DEADLINE_MS }),
      ),
    checkWorkload: ({ namespace, kind, name, service }, pool) => {
      const request = { namespace, kind, name, service };
      return runners.call(pool, (callUnary, client) =>
        callUnary(client, 'checkWorkload', request, { deadlineMs: deadlines.runnerMs }),
      );
    },
    async activity(orgId) {
      const asked = await Promise.allSettled(pools.map((pool) => runners.activity(pool, orgId)));
      const answered = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      if (answered.length > 0) return new Map(answered);
      throw asked.find((one) => one.status === 'rejected')?.reason;
    },
    room: (pool) =>
      runners.call(pool, async (callUnary, client) => {
        const { room } = await callUnary(client, 'getRoom', {}, { deadlineMs: deadlines.shownMs });
        return room && { used: room.used, waiting: room.waiting };
      }),
    close: () => runners.close(),
  };
}

class Runners implements Closable {
  readonly #addresses: ReadonlyMap<string, string>;
  readonly #caller: ServiceIdentity | undefined;
  readonly #deadlines: Deadlines;
  readonly #clients = new Map<string, Client>();

  constructor(addresses: readonly PoolAddress[], caller: ServiceIdentity | undefined, deadlines: Deadlines) {
    this.#deadlines = deadlines;
    this.#addresses = new Map(addresses.map(({ pool, address }) => [pool, address]));
    this.#caller = caller;
  }

  get pools(): readonly string[] {
    return [...this.#addresses.keys()];
  }

  /** Calls the runner that leads a pool. */
  async call<T>(pool: string, ask: (callUnary: Rpc['callUnary'], client: Client) => Promise<T>): Promise<T> {
    const { callUnary, createRunnerClient } = await rpc();
    const address = this.#addresses.get(pool);
    if (address === undefined) throw new Error(`RUNNER_ADDRESS names no runners of the pool "${pool}"`);
    const client = this.#clients.get(pool) ?? createRunnerClient(address, this.#caller);
    this.#clients.set(pool, client);
    return ask(callUnary, client);
  }

  /** Null: the model is no longer published. */
  async ask(
    method: 'refresh' | 'start' | 'stop',
    modelId: string,
    pool: string,
  ): Promise<ConditionNow | null> {
    const { condition, reason } = await this.call(pool, (callUnary, client) =>
      callUnary(client, method, { modelId }, { deadlineMs: this.#deadlines.runnerMs }),
    );
    const known = conditionFromWire(condition);
    return known ? { condition: known, reason } : null;
  }

  async move(method: 'start' | 'stop', modelId: string, pool: string): Promise<ConditionNow> {
    const now = await this.ask(method, modelId, pool);
    if (!now) throw new Error('the runner sent no condition');
    return now;
  }

  async activity(pool: string, orgId: string): Promise<[pool: string, activity: PoolActivity]> {
    const { models, replicas } = await this.call(pool, (callUnary, client) =>
      callUnary(client, 'listActivity', { orgId }, { deadlineMs: this.#deadlines.shownMs }),
    );
    const inFlight = new Map(models.map((model) => [model.modelId, model.inFlight]));
    return [pool, { inFlight, replicas: new Map(replicas.map(({ modelId, ...count }) => [modelId, count])) }];
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }
}
