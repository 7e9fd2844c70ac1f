import type { Db } from '@tidegate/db';
import type { Logger, Registry } from '@tidegate/runtime';
import { Catalog } from './catalog/catalog.ts';
import { ConditionWriter } from './catalog/condition-writer.ts';
import { postgresStore } from './catalog/store.ts';
import { createDrivers } from './drivers/create-driver.ts';
import { Fleet } from './fleet/fleet.ts';
import type { FleetTimings } from './fleet/timings.ts';
import { LEAD_TIMINGS, type Lead, takeLead } from './lead/lead.ts';
import { createRunnerMetrics, observeRunner, type RunnerMetrics } from './metrics.ts';
import { createHandlers } from './rpc/handlers.ts';
import { startServer } from './rpc/server.ts';
import { Gateways } from './watch/gateways.ts';

export interface RunnerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly db: Db;
  /** For the connection of its own that holds the lead. */
  readonly databaseUrl: string;
  readonly secretKey: Uint8Array;
  readonly stateDir: string;
  /** Keep what models' processes print, in the state directory. */
  readonly modelHost: string;
  readonly keepModelLogs: boolean;
  readonly modelEnv: Readonly<Record<string, string>>;
  readonly stopModelsOnExit: boolean;
  readonly timings: FleetTimings;
  readonly now: () => number;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Registry;
  /** It is not the active runner any more and does nothing from here on: end the process, so that it stands by anew. */
  readonly onLeadLost: () => void;
}

export interface Runner {
  /** Whether it is the active one and answers calls. */
  ready(): boolean;
  /** Resolves with its port once it is. Rejects when it cannot act although it may. */
  readonly active: Promise<number>;
  close(): Promise<void>;
}

/** Most that is waited at the end for conditions on their way to Postgres. */
const CLOSE_WRITE_MS = 3_000;

interface Acting {
  readonly port: number;
  readonly fleet: Fleet;
  readonly gateways: Gateways;
  close(stopModels: boolean): Promise<void>;
}

/** Stands by, and acts once no other runner does. */
export function startRunner(options: RunnerOptions): Runner {
  const { logger, stopModelsOnExit } = options;
  const ending = new AbortController();
  const runnerMetrics = createRunnerMetrics(options.metrics);
  let lead: Lead | null = null;
  let acting: Acting | null = null;
  observeRunner(options.metrics, () => ({
    conditions: () => acting?.fleet.conditions() ?? [],
    gateways: acting?.gateways.connected ?? 0,
    active: acting !== null,
  }));
  const onLost = () => {
    logger.error('the lead is lost: standing down');
    void acting?.close(false);
    acting = null;
    options.onLeadLost();
  };
  const active = (async () => {
    lead = await takeLead({ url: options.databaseUrl, timings: LEAD_TIMINGS, logger, onLost }, ending.signal);
    if (!lead) throw new Error('closed before it was active');
    acting = await act(options, runnerMetrics);
    logger.info({ port: acting.port }, 'active');
    return acting.port;
  })();
  active.catch(() => {});
  return {
    active,
    ready: () => acting !== null,
    close: async () => {
      ending.abort();
      await active.catch(() => {});
      await acting?.close(stopModelsOnExit);
      acting = null;
      await lead?.release();
    },
  };
}

async function act(options: RunnerOptions, metrics: RunnerMetrics): Promise<Acting> {
  const {
    db,
    secretKey,
    stateDir,
    modelHost,
    keepModelLogs,
    modelEnv,
    timings,
    now,
    random,
    logger,
    host,
    port,
  } = options;
  const store = postgresStore(db, secretKey);
  const writer = new ConditionWriter(store, logger);
  const catalog = new Catalog(now());
  const drivers = createDrivers({
    ...{ stateDir, modelHost, metrics, now, random },
    keepOutput: keepModelLogs,
    env: modelEnv,
    timings: timings.drivers,
  });
  const gateways: Gateways = new Gateways({
    ...{ now, absentGraceMs: timings.absentGraceMs },
    onUse: (modelId) => fleet.touch(modelId),
  });
  const fleet: Fleet = new Fleet({
    ...{ store, writer, catalog, gateways, timings, now, logger, metrics },
    createDriver: drivers.create,
    clearStrays: drivers.clearStrays,
  });
  await fleet.start();
  const server = await startServer(host, port, createHandlers({ fleet, catalog, gateways, logger }));
  return {
    ...{ port: server.port, fleet, gateways },
    close: async (stopModels) => {
      server.close();
      await fleet.close(stopModels);
      await writer.close(CLOSE_WRITE_MS);
    },
  };
}
