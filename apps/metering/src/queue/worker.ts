import {
  SETTLEMENT_QUEUE,
  type Settlement,
  type SettlementBatch,
  settlementQueuePrefix,
  settlementRetryDelayMs,
} from '@tidegate/contracts';
import { createRedisClient, explainRedis, type RedisClient } from '@tidegate/redis';
import { createOutage, type Logger } from '@tidegate/runtime';
import { UnrecoverableError, Worker } from 'bullmq';
import type { MeteringMetrics } from '../metrics.ts';
import { type BatchJob, InvalidSettlementError } from './process.ts';

/** A worker that dies keeps its jobs this long. Then another worker gets them. */
const LOCK_MS = 10_000;
const STALLED_CHECK_MS = 5_000;
/**
 * Longer than the worker ever waits for jobs (10 s). So a Redis that is silent for this long has
 * hung, and the connection is replaced.
 */
const ANSWER_TIMEOUT_MS = 15_000;
/**
 * A job is not to blame when workers die. It is safe to deliver it again, so it is never given up
 * for stalling.
 */
const MAX_STALLED = 1_000_000;
/**
 * How long the worker rests after Redis has refused a command, for example because it is full.
 * BullMQ rests only after connection errors, and would otherwise ask a thousand times a second or
 * more.
 */
const REFUSED_REST_MS = 1_000;
/** While Postgres is unavailable, many jobs fail each second. */
const WARN_EVERY_MS = 10_000;

export interface WorkerOptions {
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly concurrency: number;
  readonly process: (job: BatchJob) => Promise<void>;
  readonly metrics: MeteringMetrics;
  readonly logger: Logger;
}

export interface SettlementWorker {
  /** Whether the worker takes jobs, as far as Redis lets it. */
  running(): boolean;
  /**
   * Stops taking jobs. Resolves when current jobs are done. If Redis is unavailable, they run again
   * later.
   */
  close(): Promise<void>;
}

/** Starts working on the settlement queue. Waits for a Redis that is unavailable. */
export function startWorker({ metrics, logger, ...options }: WorkerOptions): SettlementWorker {
  const connection = createRedisClient(options.redisUrl, {
    maxRetriesPerRequest: null,
    socketTimeout: ANSWER_TIMEOUT_MS,
    retryStrategy: (tries: number) => Math.min(100 * tries, 1_000),
  });
  const attempts = new Set<Promise<void>>();
  const work = async (job: BatchJob) => {
    const attempted = attempt(options.process, job);
    attempts.add(attempted);
    await attempted.finally(() => attempts.delete(attempted));
  };
  const worker = new Worker(SETTLEMENT_QUEUE, work, {
    prefix: settlementQueuePrefix(options.redisPrefix),
    connection,
    concurrency: options.concurrency,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_CHECK_MS,
    maxStalledCount: MAX_STALLED,
    settings: { backoffStrategy: (attempts) => settlementRetryDelayMs(attempts) },
  });
  const rest = followErrors(worker, connection, logger);
  reportJobs(worker, metrics, logger);
  return {
    running: () => rest.isResting() || worker.isRunning(),
    async close() {
      rest.end();
      // While Redis is unavailable, BullMQ's close never resolves. Then only the jobs are awaited.
      const jobsDone = untilLost(connection).then(() => Promise.allSettled(attempts));
      await Promise.race([worker.close(), jobsDone]);
      connection.disconnect();
    },
  };
}

/** Logs the worker's errors. Lets it rest after Redis has refused a command. */
function followErrors(worker: Worker, connection: RedisClient, logger: Logger) {
  const outage = createOutage(logger, 'the queue connection failed');
  connection.on('ready', () => outage.worked());
  // If only the worker's second connection was lost, a job shows that it is back.
  worker.on('active', () => outage.worked());
  let resting: NodeJS.Timeout | undefined;
  worker.on('error', (err) => {
    if (err.name !== 'ReplyError') {
      if (connection.status !== 'ready' || isConnectionError(err)) outage.failed(err);
      else logger.warn({ err }, 'the queue reported an error');
      return;
    }
    if (resting || worker.closing) return;
    logger.warn({ err }, 'Redis refuses commands from the queue');
    void worker.pause(true);
    resting = setTimeout(() => {
      resting = undefined;
      worker.resume();
    }, REFUSED_REST_MS);
  });
  return { isResting: () => resting !== undefined, end: () => clearTimeout(resting) };
}

/** Counts and logs jobs that fail or that a dead worker left. */
function reportJobs(worker: Worker, metrics: MeteringMetrics, logger: Logger): void {
  worker.on('stalled', (jobId) => logger.warn({ jobId }, 'a job was taken over from a dead worker'));
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  worker.on('failed', (job, err) => {
    const dead = job !== undefined && job.finishedOn !== undefined;
    if (dead) metrics.deadLetters.inc();
    else metrics.failedAttempts.inc();
    if (!dead && performance.now() - warnedAtMs < WARN_EVERY_MS) return;
    const requestIds = job && requestIdsOf(job.data);
    const record = { err, jobId: job?.id, attempts: job?.attemptsMade, requestIds };
    if (dead) {
      logger.error(record, 'settlements could not be written and are now a dead letter');
      return;
    }
    warnedAtMs = performance.now();
    logger.warn(record, 'settlements could not be written yet');
  });
}

/** BullMQ's own errors have a number as their code, or none. */
const isConnectionError = (error: NodeJS.ErrnoException): boolean =>
  typeof error.code === 'string' || explainRedis(error) !== null;

/** Resolves when the client has no connection. */
const untilLost = (connection: RedisClient): Promise<void> =>
  new Promise((resolve) => {
    if (connection.status === 'ready') connection.once('close', resolve);
    else resolve();
  });

async function attempt(process: WorkerOptions['process'], job: BatchJob): Promise<void> {
  try {
    await process(job);
  } catch (error) {
    throw error instanceof InvalidSettlementError ? new UnrecoverableError(error.message) : error;
  }
}

const MAX_LOGGED = 5;
const RESERVATION_ID = /^[A-Za-z0-9]{24}$/;

/** The first requests of a job, for the log. The job's data may be anything. */
export function requestIdsOf(data: unknown): string[] {
  const settlements = (data as Partial<SettlementBatch> | null)?.settlements;
  if (!Array.isArray(settlements)) return [];
  return settlements
    .slice(0, MAX_LOGGED)
    .map((settlement: Partial<Settlement> | null) => String(settlement?.reservationId))
    .filter((id) => RESERVATION_ID.test(id))
    .map((id) => `req_${id}`);
}
