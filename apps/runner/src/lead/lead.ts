import type { Logger } from '@tidegate/runtime';
import pg from 'pg';
import { pause } from '../drivers/pause.ts';
import { hasOwnSession, LOCK, POOLED, sessionOf, tryAdvisoryLock } from './own-session.ts';

export interface LeadTimings {
  /** Between two attempts to become the active runner. */
  readonly tryMs: number;
  /**
   * Between two checks that the session lives and has the lock. Each check may take
   * `proofTimeoutMs`.
   */
  readonly proofMs: number;
  readonly proofTimeoutMs: number;
  /** Between two attempts through a pooler that shares sessions. */
  readonly pooledMs: number;
}

export const LEAD_TIMINGS: LeadTimings = {
  tryMs: 500,
  proofMs: 2_000,
  proofTimeoutMs: 5_000,
  pooledMs: 10_000,
};

/** How long `release` waits for a silent server. */
const RELEASE_MS = 2_000;

/**
 * If a machine vanishes, the server ends its session after 11 s, or after 15 s if it had data to
 * send, and not after hours. Then the lock is free. By that time a runner that is alive but cut off
 * has failed a check. Checks wait for the session's other statements, so none of those may wait
 * long for other sessions' locks.
 */
const SESSION = `
  SET tcp_keepalives_idle = 5;
  SET tcp_keepalives_interval = 2;
  SET tcp_keepalives_count = 3;
  SET tcp_user_timeout = 15000;
  SET lock_timeout = 2000;`;

export interface LeadOptions {
  readonly url: string;
  readonly timings: LeadTimings;
  readonly logger: Logger;
}

/** Leadership: being the one active runner. */
export interface Lead {
  /** Aborted when the lock is lost. Another runner may be active already. */
  readonly lost: AbortSignal;
  /**
   * Runs a statement in the session that holds the lock. So it takes effect before any other runner
   * becomes active, or not at all. Rejects if the statement fails. Without an answer in time the
   * lead is lost, as after a failed check.
   */
  query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Ends the session and so releases the lock. Never rejects. */
  release(): Promise<void>;
}

/**
 * Waits until this runner is the active one of its database. Null: aborted before that. It never
 * leads in a session that it shares, because there the lock would exclude nobody.
 */
export async function takeLead(options: LeadOptions, signal: AbortSignal): Promise<Lead | null> {
  const { timings, logger } = options;
  let announced = false;
  const onStandby = () => {
    if (!announced) logger.info('another runner is active: standing by');
    announced = true;
  };
  while (!signal.aborted) {
    const client = newClient(options);
    const outcome = await tryLock(client, options, signal, onStandby);
    if (typeof outcome === 'number') return keepLead(client, outcome, options);
    await client.end().catch(() => {});
    if (outcome === 'pooled') logger.error(POOLED);
    await pause(outcome === 'pooled' ? timings.pooledMs : timings.tryMs, signal);
  }
  return null;
}

function newClient({ url, timings }: LeadOptions): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tidegate-runner-lead',
    connectionTimeoutMillis: timings.proofTimeoutMs,
    query_timeout: timings.proofTimeoutMs,
    keepAlive: true,
  });
  client.on('error', () => {});
  return client;
}

/**
 * Tries to take the lock on one connection for as long as it lives. Returns the pid of the session
 * that has the lock, or why there is none.
 */
async function tryLock(
  client: pg.Client,
  options: LeadOptions,
  signal: AbortSignal,
  onStandby: () => void,
): Promise<number | 'pooled' | 'failed'> {
  const { timings, logger } = options;
  const witness = newClient(options);
  try {
    await client.connect();
    await client.query(SESSION);
    await witness.connect();
    if (!(await hasOwnSession(client, witness))) return 'pooled';
    await witness.end();
    while (!signal.aborted) {
      const lead = await tryAdvisoryLock(client);
      if (lead === 'shared') return 'pooled';
      if (lead === 'taken') {
        const { pid, held } = await sessionOf(client);
        if (held) return pid;
        await client.query(`SELECT pg_advisory_unlock(${LOCK})`);
        return 'pooled';
      }
      onStandby();
      await pause(timings.tryMs, signal);
    }
  } catch (err) {
    logger.warn({ err }, 'the lock in Postgres could not be requested: trying again');
  } finally {
    await witness.end().catch(() => {});
  }
  return 'failed';
}

function keepLead(client: pg.Client, pid: number, { timings, logger }: LeadOptions): Lead {
  const lost = new AbortController();
  const over = new AbortController();
  let ended: Promise<void> | null = null;
  const end = () => {
    over.abort();
    ended ??= client.end().catch(() => {});
    return ended;
  };
  const lose = () => {
    if (over.signal.aborted) return;
    void end();
    lost.abort();
  };
  client.on('error', lose);
  client.on('end', lose);
  const prove = async () => {
    for (;;) {
      await pause(timings.proofMs, over.signal);
      if (over.signal.aborted) return;
      const now = await sessionOf(client);
      if (now.held && now.pid === pid) continue;
      logger.error(POOLED);
      return lose();
    }
  };
  prove().catch(lose);
  return {
    lost: lost.signal,
    query: async (sql, values = []) => {
      try {
        return (await client.query<Record<string, unknown>>(sql, [...values])).rows;
      } catch (err) {
        if (!(err instanceof pg.DatabaseError)) lose();
        throw err;
      }
    },
    release: () => Promise.race([end(), pause(RELEASE_MS, new AbortController().signal)]),
  };
}
