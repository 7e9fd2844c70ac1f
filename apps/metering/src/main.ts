import { closeDb, createDb, explainPostgres, watchSchema } from '@tidegate/db';
import { explainRedis } from '@tidegate/redis';
import { createLogger, type Logger, runService, type Service, startAdmin } from '@tidegate/runtime';
import { startTracing } from '@tidegate/tracing';
import { type Config, readConfig } from './config.ts';
import { Housekeeping } from './days/housekeeping.ts';
import { createMetering } from './metering.ts';
import { createMeteringMetrics } from './metrics.ts';
import { openRedisClock } from './queue/clock.ts';
import { openSettlementJobs } from './queue/settlement-jobs.ts';
import { startWorker } from './queue/worker.ts';
import { connectLimiters } from './settlements/limiters.ts';

/**
 * One group of settlements is written at a time. The other connections are for partitions and
 * readiness.
 */
const MAX_CONNECTIONS = 4;

/** A statement that takes this long fails, and its jobs are tried again. */
const STATEMENT_TIMEOUT_MS = 30_000;

const explain = (error: unknown) => explainPostgres(error) ?? explainRedis(error);

runService('metering', async (service) => {
  const config = readConfig();
  const logger = createLogger({ service: 'metering', level: config.LOG_LEVEL, explain });
  service.configure({
    logger,
    ports: { ADMIN_PORT: config.ADMIN_PORT },
    shutdownDelayMs: config.SHUTDOWN_DELAY_MS,
  });

  const { db, schema, limiters, redis, queue, redisNowMs } = openStores(service, config, logger);
  const pingPostgres = async () => db.$queryRaw`SELECT 1`;
  const metrics = createMeteringMetrics({
    jobCounts: queue.counts,
    oldestJobS: () => queue.oldestS(Date.now()),
    concurrency: config.METERING_CONCURRENCY,
    pingRedis: redisNowMs,
    pingPostgres,
  });
  const tracing = await startTracing({
    settings: config.tracing,
    service: 'metering',
    metrics: metrics.registry,
    log: logger,
  });
  service.onShutdown('tracing', () => tracing?.stop());
  const deps = { db, limiters, queue, metrics, logger, tracing };
  const metering = createMetering({ ...deps, nowMs: Date.now, redisNowMs });
  service.onShutdown('confirmations', () => metering.drain());
  const housekeeping = new Housekeeping({ db, queue, logger, auditKeepDays: config.AUDIT_KEEP_DAYS });
  for (const [name, chore] of Object.entries({ partitions: metering.partitions, housekeeping })) {
    chore.start();
    service.onShutdown(name, () => chore.stop());
  }
  const worker = startWorker({
    ...redis,
    concurrency: config.METERING_CONCURRENCY,
    process: metering.process,
    metrics,
    logger,
  });
  service.onShutdown('worker', () => worker.close());

  const isReady = async () => {
    if (!worker.running()) return 'its worker does not take settlements: Redis is unavailable';
    await Promise.all([queue.counts(), pingPostgres()]);
    return (await schema.problem()) ?? true;
  };
  const admin = await startAdmin({
    port: config.ADMIN_PORT,
    host: config.ADMIN_HOST,
    metrics: metrics.registry,
    stopping: service.stopping,
    logger,
    explain,
    ready: isReady,
  });
  service.onShutdown('admin', () => admin.close());
  logger.info({ adminPort: admin.port }, 'metering is up');
});

/** Connects to Postgres, the limiters and Redis. The service closes all of it at shutdown. */
function openStores(service: Service, config: Config, logger: Logger) {
  const db = createDb(config.DATABASE_URL, {
    maxConnections: MAX_CONNECTIONS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  service.onShutdown('database', () => closeDb(db));
  const schema = watchSchema(db, logger);
  const limiters = connectLimiters(config.LIMITER_ADDRESSES, config.caller);
  service.onShutdown('limiters', () => limiters.close());
  const redis = { redisUrl: config.REDIS_URL, redisPrefix: config.REDIS_PREFIX };
  const queue = openSettlementJobs({
    ...redis,
    onError: (err) => logger.debug({ err }, 'the queue connection failed'),
  });
  service.onShutdown('queue', () => queue.close());
  const clock = openRedisClock(config.REDIS_URL, (err) =>
    logger.debug({ err }, 'the clock connection failed'),
  );
  service.onShutdown('clock', () => clock.close());
  return { db, schema, limiters, redis, queue, redisNowMs: clock.nowMs };
}
