import type { Condition } from '@tidegate/contracts';
import type { Logger } from '@tidegate/runtime';
import type { ModelStore, StoredModel } from '../catalog/store.ts';
import { haltBackoffMs } from '../condition/backoff.ts';
import { pause } from '../pause.ts';
import { Room, type RoomUse } from '../room/room.ts';
import { LeftWorkloads, type LeftWorkloadsDeps } from './left-workloads.ts';
import { type ModelStatus, outcomeOf, type ReplicaCount, type Woken } from './model-status.ts';
import { Supervisor, type SupervisorDeps } from './supervisor.ts';

export interface FleetDeps extends Omit<SupervisorDeps, 'room'>, Pick<LeftWorkloadsDeps, 'endWorkload'> {
  readonly store: Omit<ModelStore, 'upstreamKey'>;
  /** Ends processes of models other than these. Rejects when some could not be ended. */
  readonly clearStrays: (processModels: ReadonlySet<string>) => Promise<void>;
}

/** The outcome of refreshing a model. */
export type Refreshed =
  | { readonly published: true; readonly status: ModelStatus }
  | { readonly published: false; readonly revision: number };

/**
 * All published models, with one supervisor each. Follows what is published and deleted in
 * Postgres.
 */
export class Fleet {
  readonly #deps: FleetDeps;
  readonly #room: Room;
  readonly #logger: Logger;
  readonly #supervisors = new Map<string, Supervisor>();
  /** Supervisors that are still taking over their model. */
  readonly #starting = new Set<Supervisor>();
  readonly #timers: NodeJS.Timeout[] = [];
  /**
   * Reads of Postgres are applied one at a time, in order. So an older one never undoes a newer
   * one.
   */
  #reading: Promise<unknown> = Promise.resolve();
  /** Deleted models that are being ended, and whether they have a process on this machine. */
  readonly #removals = new Map<Promise<void>, boolean>();
  readonly #left: LeftWorkloads;
  /** The ending of processes of other models, which `start` begins. */
  #strays: Promise<void> | null = null;
  readonly #ending = new AbortController();

  constructor(deps: FleetDeps) {
    this.#deps = deps;
    this.#room = new Room(deps.timings.room);
    this.#left = new LeftWorkloads(deps);
    this.#logger = deps.logger;
  }

  /** Takes over all published models. Rejects when they cannot be read. */
  async start(): Promise<void> {
    await this.#reread(this.#deps.timings.takeoverLookMs);
    if (this.#closed) return;
    // Strays may take long to end, and gateways are waiting for this runner.
    this.#strays = this.#clearStrays();
    const { idleCheckMs, rereadMs, lookMs } = this.#deps.timings;
    this.#timers.push(
      setInterval(() => this.#lookAtIdleModels(), idleCheckMs),
      setInterval(() => {
        this.#reread(lookMs).catch((err) => this.#logger.warn({ err }, 'the models could not be read again'));
      }, rereadMs),
    );
  }

  conditions(): Condition[] {
    return [...this.#supervisors.values()].map(({ condition }) => condition);
  }

  /** Counts the replicas of an organization's running models that have several. */
  replicas(orgId: string): (ReplicaCount & { readonly modelId: string })[] {
    return [...this.#supervisors].flatMap(([modelId, supervisor]) => {
      const count = supervisor.orgId === orgId ? supervisor.replicaCount : null;
      return count ? [{ modelId, ...count }] : [];
    });
  }

  /** The replicas of a running model, including those that cannot be called. */
  allReplicas(modelId: string): number {
    return this.#supervisors.get(modelId)?.allReplicas ?? 0;
  }

  /** How full the pool is. Null: it has no capacity. */
  room(): RoomUse | null {
    return this.#room.use();
  }

  /** Callers that wait for the model to run. */
  waiting(modelId: string): number {
    return this.#supervisors.get(modelId)?.waiting ?? 0;
  }

  touch(modelId: string): void {
    this.#supervisors.get(modelId)?.touch();
  }

  async wake(modelId: string, signal: AbortSignal, requestId?: string): Promise<Woken> {
    const supervisor = this.#supervisors.get(modelId);
    const woken = await supervisor?.wake(signal, requestId);
    if (woken !== undefined) this.#deps.metrics.wakes.inc({ result: outcomeOf(woken) });
    return woken;
  }

  /**
   * Starts or stops a model for an owner. Resolves when that has begun, is written to Postgres, and
   * is known to all gateways, or after a while. Undefined: there is no such model.
   */
  async command(modelId: string, wish: 'start' | 'stop'): Promise<ModelStatus | undefined> {
    const supervisor = this.#supervisors.get(modelId);
    if (!supervisor) return undefined;
    supervisor.dispatch({ type: wish });
    if (!(await this.#deps.writer.flushOne(modelId, this.#deps.timings.persistMs)))
      throw new Error('the condition could not be written in time');
    await this.#deps.gateways.acknowledged(this.#deps.catalog.revision, this.#deps.timings.acknowledgeMs);
    return supervisor.status();
  }

  /**
   * Reads a model's row again, and the pool's capacity. Resolves when all gateways know the change,
   * or after a while. Rejects when they cannot be read.
   */
  async refresh(modelId: string): Promise<Refreshed> {
    const revision = await this.#inOrder(async () => {
      const { store, monotonicMs } = this.#deps;
      const [stored, capacity] = await Promise.all([store.some([modelId]), store.capacity()]);
      this.#room.resize(capacity, monotonicMs());
      if (stored.length > 0) await this.#apply(stored, this.#deps.timings.lookMs);
      else this.#remove(modelId);
      return this.#deps.catalog.revision;
    });
    await this.#deps.gateways.acknowledged(revision, this.#deps.timings.acknowledgeMs);
    const status = this.#supervisors.get(modelId)?.status();
    return status ? { published: true, status } : { published: false, revision };
  }

  /**
   * Stops acting before this call returns. Then waits for models that are being ended. See
   * `Supervisor.release`.
   */
  async close(stopProcesses: boolean): Promise<void> {
    this.#ending.abort();
    this.#room.close();
    for (const timer of this.#timers) clearInterval(timer);
    const releases = [...this.#supervisors.values(), ...this.#starting].map((supervisor) =>
      supervisor.release(stopProcesses),
    );
    const processes = [...this.#removals].flatMap(([removal, isProcess]) => (isProcess ? [removal] : []));
    // The next runner waits for the lead. It scales down what this one has not.
    const workloads = Promise.race([
      Promise.all([...this.#removals.keys(), this.#left.cleared()]),
      pause(this.#deps.timings.leaveWorkloadsMs, new AbortController().signal),
    ]);
    await Promise.all([...releases, ...processes, workloads, this.#strays]);
  }

  get #closed(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Tries again until all have ended, or the runner ends. Never rejects. */
  async #clearStrays(): Promise<void> {
    const { clearStrays, timings } = this.#deps;
    for (let failures = 1; !this.#closed; failures++) {
      const processes = [...this.#supervisors].filter(([, { isProcess }]) => isProcess);
      try {
        return await clearStrays(new Set(processes.map(([modelId]) => modelId)));
      } catch (err) {
        const retryMs = haltBackoffMs(failures) * timings.backoffFactor;
        this.#logger.error({ err, retryMs }, 'stray processes could not be ended: trying again');
        await pause(retryMs, this.#ending.signal);
      }
    }
  }

  /** Reads new and changed models in full, and only the versions of the others. */
  #reread(lookMs: number): Promise<void> {
    return this.#inOrder(async () => {
      const { store } = this.#deps;
      const [versions, capacity] = await Promise.all([store.versions(), store.capacity()]);
      this.#room.resize(capacity, this.#deps.monotonicMs());
      const changed = [...versions].filter(
        ([modelId, version]) => this.#supervisors.get(modelId)?.version !== version,
      );
      const stored = changed.length > 0 ? await store.some(changed.map(([modelId]) => modelId)) : [];
      await this.#apply(stored, lookMs);
      for (const modelId of [...this.#supervisors.keys()]) if (!versions.has(modelId)) this.#remove(modelId);
      this.#left.clear(Promise.all(this.#removals.keys()), this.#ending.signal);
    });
  }

  #inOrder<T>(read: () => Promise<T>): Promise<T> {
    const reading = this.#reading.catch(() => {}).then(read);
    this.#reading = reading;
    return reading;
  }

  /**
   * Takes over new and changed models. Nothing starts before all models that still run have their
   * room.
   */
  async #apply(stored: readonly StoredModel[], lookMs: number): Promise<void> {
    if (this.#closed) return;
    for (const { spec } of stored) this.#supervisors.get(spec.modelId)?.change(spec);
    const added = stored
      .filter(({ spec }) => !this.#supervisors.has(spec.modelId))
      .map((model) => ({
        ...model,
        supervisor: new Supervisor(model.spec, { ...this.#deps, room: this.#room }),
      }));
    for (const { supervisor } of added) this.#starting.add(supervisor);
    const found = await Promise.all(
      added.map(async (one) => ({ ...one, leftBehind: await one.supervisor.look(lookMs) })),
    ).finally(() => {
      for (const { supervisor } of added) this.#starting.delete(supervisor);
    });
    if (this.#closed) return;
    // Those that run come first: one that is still to be ended must count as leaving before another
    // one asks for its room.
    const isIdle = ({ leftBehind }: (typeof found)[number]) =>
      leftBehind === 'nothing' || leftBehind === 'remote';
    found.sort((one, other) => Number(isIdle(one)) - Number(isIdle(other)));
    for (const { supervisor, persisted, leftBehind } of found) {
      this.#supervisors.set(supervisor.modelId, supervisor);
      supervisor.begin(persisted, leftBehind);
    }
  }

  #remove(modelId: string): void {
    const supervisor = this.#supervisors.get(modelId);
    if (!supervisor || this.#closed) return;
    this.#supervisors.delete(modelId);
    const isTaken = () => this.#left.isTaken(modelId);
    const removal = supervisor
      .remove(this.#ending.signal, isTaken)
      .finally(() => this.#removals.delete(removal));
    this.#removals.set(removal, supervisor.isProcess);
  }

  #lookAtIdleModels(): void {
    for (const supervisor of this.#supervisors.values()) supervisor.sleepIfIdle();
    this.#room.share(this.#deps.monotonicMs());
  }
}
