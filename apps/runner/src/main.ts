import { closeDb, createDb, explainPostgres, watchSchema } from '@tidegate/db';
import { createLogger, createMetrics, runService, startAdmin } from '@tidegate/runtime';
import { startTracing } from '@tidegate/tracing';
import { type Config, readConfig } from './config.ts';
import { FLEET_TIMINGS } from './fleet/timings.ts';
import { createLeaseDb, LEAD_TIMINGS } from './lead/lead.ts';
import { ownName, ownProcess } from './lead/own-process.ts';
import { type RunnerOptions, startRunner } from './runner.ts';

const MAX_DB_CONNECTIONS = 4;

runService('runner', async (service) => {
  const config = readConfig();
  const logger = createLogger({ service: 'runner', level: config.LOG_LEVEL, explain: explainPostgres });
  service.configure({
    logger,
    ports: { RUNNER_PORT: config.RUNNER_PORT, ADMIN_PORT: config.ADMIN_PORT },
    shutdownDelayMs: config.SHUTDOWN_DELAY_MS,
  });
  const metrics = createMetrics('runner');
  const tracing = await startTracing({
    settings: config.tracing,
    service: 'runner',
    metrics,
    log: logger,
  });
  service.onShutdown('tracing', () => tracing?.stop());

  const db = createDb(config.DATABASE_URL, { maxConnections: MAX_DB_CONNECTIONS });
  const leaseDb = createLeaseDb(config.DATABASE_URL);
  service.onShutdown('postgres', () => closeDb(db));
  service.onShutdown('lease', () => closeDb(leaseDb));
  const schema = watchSchema(db, logger);

  const runner = startRunner(optionsOf(config, { db, leaseDb, logger, metrics, tracing }));
  service.onShutdown('runner', () => runner.close());

  const admin = await startAdmin({
    host: config.ADMIN_HOST,
    port: config.ADMIN_PORT,
    metrics,
    stopping: service.stopping,
    logger,
    ready: async () => (await schema.problem()) ?? runner.problem() ?? true,
  });
  service.onShutdown('admin', () => admin.close());
  logger.info({ adminPort: admin.port }, 'runner is up');

  runner.leading.catch((err) => service.fail(err));
});

function optionsOf(
  config: Config,
  parts: Pick<RunnerOptions, 'db' | 'leaseDb' | 'logger' | 'metrics' | 'tracing'>,
): RunnerOptions {
  return {
    ...parts,
    host: config.RUNNER_HOST,
    port: config.RUNNER_PORT,
    trust: config.trust,
    candidate: { pool: config.RUNNER_POOL, holder: ownName(), process: ownProcess() },
    leadTimings: LEAD_TIMINGS,
    secretKeys: config.secretKeys,
    stateDir: config.RUNNER_STATE_DIR,
    modelHost: config.RUNNER_MODEL_HOST,
    keepModelLogs: config.RUNNER_MODEL_LOGS,
    modelUser: config.modelUser,
    kubernetes: config.kubernetes,
    stopModelsOnExit: config.RUNNER_STOP_MODELS_ON_EXIT,
    timings: {
      ...FLEET_TIMINGS,
      minimumStayMs: config.RUNNER_MINIMUM_STAY_MS,
      drivers: { ...FLEET_TIMINGS.drivers, probeTimeoutMs: config.RUNNER_PROBE_TIMEOUT_MS },
    },
    nowMs: Date.now,
    monotonicMs: () => performance.now(),
    random: Math.random,
  };
}
