import { KEPT_CONDITIONS } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';

/** The row that says which runner of a pool leads. Its times are the server's, not the runners'. */
export interface HeldLease {
  readonly epoch: bigint;
  /** For people. */
  readonly holder: string;
  /** See `ownProcess`. Null: unknown. */
  readonly process: string | null;
}

/** The runner that asks for the lease. */
export interface Candidate extends Omit<HeldLease, 'epoch'> {
  readonly pool: string;
  readonly leaseMs: number;
}

/**
 * Takes the lease if nobody has it, or if its epoch is `over` because its holder has ended. Returns
 * the new epoch, or null if another runner has the lease.
 */
export async function takeLease(db: Db, candidate: Candidate, over: bigint | null): Promise<bigint | null> {
  const { pool, holder, process, leaseMs } = candidate;
  const [row] = await db.$queryRaw<{ epoch: bigint }[]>`
    INSERT INTO runner_lease AS lease (pool, epoch, holder, process, expires_at)
    VALUES (${pool}, 1, ${holder}, ${process}, clock_timestamp() + ${leaseMs} * interval '1 ms')
    ON CONFLICT (pool) DO UPDATE
      SET epoch = lease.epoch + 1, holder = excluded.holder, process = excluded.process,
        expires_at = clock_timestamp() + ${leaseMs} * interval '1 ms'
      WHERE lease.expires_at <= clock_timestamp() OR lease.epoch = ${over}
    RETURNING epoch`;
  return row?.epoch ?? null;
}

/** Null: no runner has ever had the lease of this pool. */
export async function readLease(db: Db, pool: string): Promise<HeldLease | null> {
  const [row] = await db.$queryRaw<HeldLease[]>`
    SELECT epoch, holder, process FROM runner_lease WHERE pool = ${pool}`;
  return row ?? null;
}

/** False: another runner has taken the lease. */
export async function renewLease(db: Db, pool: string, epoch: bigint, leaseMs: number): Promise<boolean> {
  const renewed = await db.$executeRaw`
    UPDATE runner_lease SET expires_at = clock_timestamp() + ${leaseMs} * interval '1 ms'
    WHERE pool = ${pool} AND epoch = ${epoch}`;
  return renewed === 1;
}

/** Gives the lease up, so that others need not wait until it expires. */
export async function endLease(db: Db, pool: string, epoch: bigint): Promise<void> {
  await db.$executeRaw`
    UPDATE runner_lease SET expires_at = clock_timestamp() WHERE pool = ${pool} AND epoch = ${epoch}`;
}

export interface ConditionChange {
  readonly modelId: string;
  readonly condition: string;
  readonly reason: string | null;
  readonly at: Date;
}

/**
 * Writes a model's condition, and adds it to the model's history unless the history ends with the
 * same one, if the lease still has this epoch. False: it does not, and nothing is written. The
 * condition of a model that has moved to another pool is not written either. While this runs,
 * nobody can take the lease, so no write of an earlier holder follows one of a later holder. It is
 * one statement, so that the server completes it whatever happens to the runner. It locks the model
 * first: it must not keep others from the lease while it waits.
 */
export async function writeConditionUnder(
  db: Db,
  pool: string,
  epoch: bigint,
  { modelId, condition, reason, at }: ConditionChange,
): Promise<boolean> {
  const [row] = await db.$queryRaw<{ held: boolean }[]>`
    WITH one AS MATERIALIZED (
      SELECT id FROM model WHERE id = ${modelId} AND pool = ${pool} FOR NO KEY UPDATE
    ), lease AS MATERIALIZED (
      SELECT epoch FROM runner_lease
      WHERE pool = ${pool} AND epoch = ${epoch} AND (SELECT count(*) FROM one) >= 0
      FOR SHARE
    ), written AS (
      UPDATE model
      SET condition = ${condition}::model_condition, condition_reason = ${reason}, condition_at = ${at}
      FROM one, lease WHERE model.id = one.id
    ), noted AS (
      INSERT INTO condition_change (model_id, at, condition, reason)
      SELECT id, ${at}::timestamptz, ${condition}::model_condition, split_part(${reason}::text, E'\n', 1) FROM one, lease
      WHERE NOT EXISTS (
        SELECT FROM (
          SELECT * FROM condition_change
          WHERE model_id = ${modelId} AND at <= ${at}::timestamptz
            AND at >= ${at}::timestamptz - ${KEPT_CONDITIONS.days} * interval '1 day'
          ORDER BY at DESC LIMIT 1
        ) last
        WHERE last.condition = ${condition}::model_condition
          AND last.reason IS NOT DISTINCT FROM split_part(${reason}::text, E'\n', 1))
      ON CONFLICT (model_id, at) DO UPDATE SET condition = excluded.condition, reason = excluded.reason
    ), dropped AS (
      DELETE FROM condition_change USING lease
      WHERE condition_change.at < ${at}::timestamptz - ${KEPT_CONDITIONS.days} * interval '1 day'
        OR (model_id = ${modelId} AND condition_change.at <= (
          SELECT old.at FROM condition_change old WHERE old.model_id = ${modelId} AND old.at < ${at}::timestamptz
          ORDER BY old.at DESC OFFSET ${KEPT_CONDITIONS.changes - 1} LIMIT 1))
    )
    SELECT EXISTS (SELECT FROM lease) AS held`;
  return row?.held === true;
}
