import type { Logger } from '@tidegate/runtime';
import pg from 'pg';
import { pause } from '../drivers/pause.ts';

/** "tidegate" in bytes: of one database, one session holds it. */
const LOCK = '8388346167643173989';

export interface LeadTimings {
  /** Between two tries to become the active runner. */
  readonly tryMs: number;
  /** Between two proofs that the lock's session lives, each of which may take `proofTimeoutMs`. */
  readonly proofMs: number;
  readonly proofTimeoutMs: number;
}

export const LEAD_TIMINGS: LeadTimings = { tryMs: 500, proofMs: 2_000, proofTimeoutMs: 5_000 };

export interface LeadOptions {
  readonly url: string;
  readonly timings: LeadTimings;
  readonly logger: Logger;
  /** The lock is lost, and another runner may act already. At most once. */
  readonly onLost: () => void;
}

/** Being the one active runner. */
export interface Lead {
  /** Gives the lock back. */
  release(): Promise<void>;
}

/** Stands by until this runner is the active one of its database. Null: aborted before. */
export async function takeLead(options: LeadOptions, signal: AbortSignal): Promise<Lead | null> {
  let announced = false;
  while (!signal.aborted) {
    const client = newClient(options);
    const taken = await tryLock(client, options, signal, () => {
      if (!announced) options.logger.info('another runner is active: standing by');
      announced = true;
    });
    if (taken) return hold(client, options);
    await client.end().catch(() => {});
    await pause(options.timings.tryMs, signal);
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

/** Tries on one connection for as long as that lives. */
async function tryLock(
  client: pg.Client,
  { timings, logger }: LeadOptions,
  signal: AbortSignal,
  onStandby: () => void,
): Promise<boolean> {
  try {
    await client.connect();
    while (!signal.aborted) {
      const { rows } = await client.query<{ locked: boolean }>(
        `SELECT pg_try_advisory_lock(${LOCK}) AS locked`,
      );
      if (rows[0]?.locked) return true;
      onStandby();
      await pause(timings.tryMs, signal);
    }
  } catch (err) {
    logger.warn({ err }, 'Postgres cannot be asked for the lead, trying again');
  }
  return false;
}

function hold(client: pg.Client, { timings, onLost }: LeadOptions): Lead {
  const ended = new AbortController();
  const lose = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    onLost();
  };
  client.on('error', lose);
  client.on('end', lose);
  const prove = async () => {
    for (;;) {
      await pause(timings.proofMs, ended.signal);
      if (ended.signal.aborted) return;
      await client.query('SELECT 1');
    }
  };
  prove().catch(lose);
  return {
    release: async () => {
      ended.abort();
      await client.end().catch(() => {});
    },
  };
}
