import { conditionFromWire } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import type { Logger, Registry, Trust } from '@tidegate/runtime';
import type { Tracing } from '@tidegate/tracing';
import { CatalogSource } from './catalog/catalog.ts';
import { ConditionWriter } from './catalog/condition-writer.ts';
import { type ModelStore, postgresStore } from './catalog/store.ts';
import type { Clocks } from './clocks.ts';
import type { KubernetesConfig } from './config.ts';
import { createDrivers } from './drivers/create-driver.ts';
import { KubernetesApi } from './drivers/kubernetes/api.ts';
import { checkWorkload, type Kubernetes } from './drivers/kubernetes/check.ts';
import { Connection } from './drivers/kubernetes/connection.ts';
import { Fleet } from './fleet/fleet.ts';
import type { FleetTimings } from './fleet/timings.ts';
import type { ModelUser } from './isolation/model-user.ts';
import type { Lead, LeadOptions } from './lead/lead.ts';
import type { ObservedModel, RunnerMetrics } from './metrics.ts';
import { createHandlers } from './rpc/handlers.ts';
import { type RpcServer, startServer } from './rpc/server.ts';
import { Gateways } from './watch/gateways.ts';

export interface LeadingRunnerOptions extends Clocks {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly trust: Trust;
  readonly db: Db;
  /** How other runners know this one. It runs only the models of its pool. */
  readonly candidate: LeadOptions['candidate'];
  /**
   * For unsealing upstream keys: the current secret key, and the previous one while it is being
   * replaced.
   */
  readonly secretKeys: readonly Uint8Array[];
  readonly stateDir: string;
  /** The host name or address of model processes. */
  readonly modelHost: string;
  /** Keep the output of model processes in the state directory. */
  readonly keepModelLogs: boolean;
  /** The user that model processes run as, and their environment. */
  readonly modelUser: ModelUser;
  /** Null: models cannot be workloads of Kubernetes. */
  readonly kubernetes: KubernetesConfig | null;
  readonly timings: FleetTimings;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Registry;
  /** Null or undefined: off. */
  readonly tracing?: Tracing | null;
}

/** How long `close` waits for conditions that are still to be written to Postgres. */
const CLOSE_WRITE_MS = 3_000;
/** Someone is waiting for a check, so it is less patient than a probe may be. */
const MAX_CHECK_TIMEOUT_MS = 5_000;

/** The work of a runner, for as long as it leads its pool. */
export class LeadingRunner {
  readonly fleet: Fleet;
  readonly gateways: Gateways;
  readonly #options: LeadingRunnerOptions;
  readonly #store: ModelStore;
  readonly #catalog: CatalogSource;
  readonly #writer: ConditionWriter;
  readonly #kubernetes: Kubernetes | null;
  #server: RpcServer | null = null;
  #closed = false;

  constructor(options: LeadingRunnerOptions, metrics: RunnerMetrics, lead: Lead) {
    const { db, secretKeys, stateDir, modelHost, keepModelLogs, modelUser, timings } = options;
    const { nowMs, monotonicMs, random, logger, kubernetes } = options;
    const store = postgresStore(db, options.candidate.pool, secretKeys, lead);
    this.#kubernetes = kubernetes && {
      api: new KubernetesApi(new Connection(kubernetes.access), lead),
      namespaces: kubernetes.namespaces,
    };
    const drivers = createDrivers({
      stateDir,
      pool: options.candidate.pool,
      modelHost,
      metrics,
      leads: () => lead.holds(),
      nowMs,
      monotonicMs,
      random,
      logger,
      keepOutput: keepModelLogs,
      modelUser,
      kubernetes: this.#kubernetes,
      timings: timings.drivers,
    });
    this.#options = options;
    this.#store = store;
    this.#catalog = new CatalogSource(nowMs());
    this.#writer = new ConditionWriter(store, logger);
    this.gateways = new Gateways({
      nowMs: monotonicMs,
      absentGraceMs: timings.absentGraceMs,
      onUse: (modelId) => this.fleet.touch(modelId),
    });
    this.fleet = new Fleet({
      store,
      timings,
      nowMs,
      monotonicMs,
      logger,
      metrics,
      writer: this.#writer,
      catalog: this.#catalog,
      gateways: this.gateways,
      createDriver: drivers.create,
      clearStrays: drivers.clearStrays,
      endWorkload: drivers.endWorkload,
    });
  }

  /** What operators see of each model. */
  *observed(): Iterable<ObservedModel> {
    const inFlight = this.gateways.inFlight();
    for (const { modelId, orgId = '', name = '', condition, replicas } of this.#catalog.all())
      yield {
        orgId,
        name,
        condition: conditionFromWire(condition) ?? '',
        replicas: replicas?.length ?? 0,
        allReplicas: this.fleet.allReplicas(modelId),
        inFlight: inFlight.get(modelId) ?? 0,
        waiting: this.fleet.waiting(modelId),
      };
  }

  /** Takes over the models, then answers calls. Resolves to the port. Rejects if either fails. */
  async start(): Promise<number> {
    const { fleet, gateways } = this;
    const { host, port, trust, timings, logger, tracing = null } = this.#options;
    await fleet.start();
    const checkTimeoutMs = Math.min(timings.drivers.probeTimeoutMs, MAX_CHECK_TIMEOUT_MS);
    const handlers = createHandlers({
      fleet,
      catalog: this.#catalog,
      gateways,
      inspection: { store: this.#store, timeoutMs: checkTimeoutMs },
      logger,
      tracing,
      checkWorkload: (settings) => checkWorkload(this.#kubernetes, settings),
    });
    const { pingTimeoutMs } = timings;
    const server = await startServer({ host, port, trust, handlers, pingTimeoutMs, log: logger });
    gateways.open();
    if (this.#closed) server.close();
    this.#server = server;
    return server.port;
  }

  /**
   * Gives up the models before this call returns. It leaves models as they are, because another
   * runner may have them already.
   */
  abandon(): void {
    this.#closed = true;
    this.#writer.abandon();
    this.#server?.close();
    void this.fleet.close(false);
  }

  /** Ends the runner. See `Supervisor.release`. */
  async close(stopModels: boolean): Promise<void> {
    this.#closed = true;
    this.#server?.close();
    await this.fleet.close(stopModels);
    await this.#writer.close(CLOSE_WRITE_MS);
  }
}
