import {
  type CatalogUpdate__Output,
  callUnary,
  type Model__Output,
  type RunnerClient,
  type WatchRequest,
} from '@tidegate/rpc';
import type { Runner } from '../runner.ts';

export const calls = (client: RunnerClient) => {
  const call =
    (method: 'wake' | 'start' | 'stop' | 'refresh') =>
    (modelId: string, deadlineMs = 120_000, signal?: AbortSignal) =>
      callUnary(client, method, { modelId }, { deadlineMs, ...(signal && { signal }) });
  const inFlight = async (orgId: string): Promise<Record<string, number>> => {
    const { models } = await callUnary(client, 'listActivity', { orgId }, { deadlineMs: 60_000 });
    return Object.fromEntries(models.map(({ modelId, inFlight }) => [modelId, inFlight]));
  };
  const room = async () => (await callUnary(client, 'getRoom', {}, { deadlineMs: 60_000 })).room;
  return {
    wake: call('wake'),
    startModel: call('start'),
    stopModel: call('stop'),
    refresh: call('refresh'),
    inFlight,
    room,
  };
};

export type TestRunner = ReturnType<typeof calls> & {
  readonly client: RunnerClient;
  readonly runner: Runner | null;
  watch(instanceId: string): Watcher;
};

/** A gateway, as far as the runner can see. It acknowledges everything unless told not to. */
export class Watcher {
  readonly updates: CatalogUpdate__Output[] = [];
  readonly models = new Map<string, Model__Output>();
  readonly ended: Promise<void>;
  acknowledging = true;
  activity: NonNullable<WatchRequest['activity']> = [];
  revision = 0;
  readonly #instanceId: string;
  readonly #call: ReturnType<RunnerClient['watch']>;

  constructor(client: RunnerClient, instanceId: string) {
    this.#instanceId = instanceId;
    this.#call = client.watch();
    this.#call.on('data', (update: CatalogUpdate__Output) => this.#apply(update));
    this.ended = new Promise((resolve) => {
      this.#call.on('error', () => resolve());
      this.#call.on('end', () => resolve());
    });
  }

  condition(modelId: string): string | undefined {
    return this.models.get(modelId)?.condition;
  }

  report(): void {
    this.#call.write({
      instanceId: this.#instanceId,
      acknowledgedRevision: this.acknowledging ? this.revision : 0,
      activity: this.activity,
    });
  }

  cancel(): void {
    this.#call.cancel();
  }

  #apply(update: CatalogUpdate__Output): void {
    this.updates.push(update);
    if (update.snapshot) this.models.clear();
    for (const model of update.models) this.models.set(model.modelId, model);
    for (const modelId of update.removedModelIds) this.models.delete(modelId);
    this.revision = update.revision;
    this.report();
  }
}
