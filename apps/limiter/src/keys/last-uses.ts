import type { Db } from '@tidegate/db';
import { LimiterError } from '../limiter-error.ts';

/** How many keys are noted between two writes. The uses of further keys are lost. */
const MAX_KEYS = 10_000;

/**
 * Notes when keys were used for requests that leave no settlement, and writes this to Postgres now
 * and then. For requests with a settlement, metering does it.
 */
export class LastUses {
  readonly #db: Db;
  /** Unix milliseconds by key id. */
  #noted = new Map<string, number>();

  constructor(db: Db) {
    this.#db = db;
  }

  note(keyId: string, atMs: number): void {
    if (this.#noted.size < MAX_KEYS || this.#noted.has(keyId)) this.#noted.set(keyId, atMs);
  }

  /** What could not be written is kept for the next time. Rejects with LimiterError. */
  async write(): Promise<void> {
    if (this.#noted.size === 0) return;
    const noted = this.#noted;
    this.#noted = new Map();
    try {
      await writeLastUses(this.#db, noted);
    } catch (cause) {
      for (const [keyId, atMs] of noted) this.note(keyId, this.#noted.get(keyId) ?? atMs);
      throw new LimiterError('postgres', 'the last use of keys could not be written', { cause });
    }
  }
}

/**
 * Moves the keys' last use, only ever forward. Leaves out keys that are deleted. Keys are locked in
 * the order of their ids, as metering does, so concurrent writers cannot deadlock.
 */
async function writeLastUses(db: Db, noted: ReadonlyMap<string, number>): Promise<void> {
  const rows = JSON.stringify([...noted].map(([key_id, at_ms]) => ({ key_id, at_ms })));
  await db.$executeRaw`
    WITH locked AS (
      SELECT api_key.id, to_timestamp(used.at_ms / 1000) AS at
      FROM json_to_recordset(${rows}::json) AS used(key_id text, at_ms float8)
      JOIN api_key ON api_key.id = used.key_id
      ORDER BY api_key.id
      FOR NO KEY UPDATE OF api_key
    )
    UPDATE api_key SET last_used_at = greatest(api_key.last_used_at, locked.at)
    FROM locked
    WHERE api_key.id = locked.id`;
}
