import { closeDb, createDb, explainPostgres, watchSchema } from '@tidegate/db';
import { explainRedis } from '@tidegate/redis';
import { createLogger, createMetrics, runService, startAdmin } from '@tidegate/runtime';
import { startTracing } from '@tidegate/tracing';
import { readConfig } from './config.ts';
import { startLimiter } from './limiter.ts';
import { LimiterError, type LimiterErrorReason } from './limiter-error.ts';
import { TIMING } from './timing.ts';

const MAX_DB_CONNECTIONS = 8;

/** When a store does not answer, a stack trace says nothing useful. */
const OF_STORES: ReadonlySet<LimiterErrorReason> = new Set(['redis', 'postgres']);

const explain = (error: unknown) =>
  explainPostgres(error) ??
  explainRedis(error) ??
  (error instanceof LimiterError && OF_STORES.has(error.reason) ? error.message : null);

runService('limiter', async (service) => {
  const config = readConfig();
  const logger = createLogger({ service: 'limiter', level: config.LOG_LEVEL, explain });
  service.configure({
    logger,
    ports: { LIMITER_PORT: config.LIMITER_PORT, ADMIN_PORT: config.ADMIN_PORT },
    shutdownDelayMs: config.SHUTDOWN_DELAY_MS,
  });
  const metrics = createMetrics('limiter');
  const tracing = await startTracing({
    settings: config.tracing,
    service: 'limiter',
    metrics,
    log: logger,
  });
  service.onShutdown('tracing', () => tracing?.stop());

  const db = createDb(config.DATABASE_URL, {
    maxConnections: MAX_DB_CONNECTIONS,
    // No caller waits longer for a read.
    statementTimeoutMs: TIMING.readTimeoutMs,
  });
  service.onShutdown('postgres', () => closeDb(db));
  const schema = watchSchema(db, logger);

  const limiter = await startLimiter({
    host: config.LIMITER_HOST,
    port: config.LIMITER_PORT,
    trust: config.trust,
    redisUrl: config.REDIS_URL,
    redisPrefix: config.REDIS_PREFIX,
    clockOffsetMs: config.LIMITER_CLOCK_OFFSET_MS,
    id: config.LIMITER_ID,
    timing: { answerTimeoutMs: config.REDIS_ANSWER_TIMEOUT_MS },
    db,
    logger,
    metrics,
    tracing,
  });
  service.onShutdown('limiter', () => limiter.close());
  service.stopping.addEventListener('abort', () => limiter.drain(), { once: true });

  const admin = await startAdmin({
    host: config.ADMIN_HOST,
    port: config.ADMIN_PORT,
    metrics,
    stopping: service.stopping,
    logger,
    ready: async () => (await schema.problem()) ?? limiter.problem() ?? true,
  });
  service.onShutdown('admin', () => admin.close());
  logger.info({ port: limiter.port, adminPort: admin.port }, 'limiter is up');
});
