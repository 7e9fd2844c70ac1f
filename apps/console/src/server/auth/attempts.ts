import type { Db } from '@tidegate/db';

/** How many attempts a window allows, successful or not. */
export interface Allowance {
  readonly attempts: number;
  readonly windowMs: number;
}

/**
 * Counts an attempt. One statement, so that each concurrent attempt counts.
 *
 * @returns milliseconds to wait; 0: allowed
 */
export async function take(
  db: Db,
  nowMs: number,
  key: string,
  { attempts, windowMs }: Allowance,
): Promise<number> {
  const now = new Date(nowMs);
  const end = new Date(nowMs + windowMs);
  const [row] = await db.$queryRaw<{ count: number; resets_at: Date }[]>`
    INSERT INTO sign_in_attempt AS a (key, count, resets_at) VALUES (${key}, 1, ${end})
    ON CONFLICT (key) DO UPDATE SET
      count = CASE WHEN a.resets_at <= ${now} THEN 1 ELSE a.count + 1 END,
      resets_at = CASE WHEN a.resets_at <= ${now} THEN ${end} ELSE a.resets_at END
    RETURNING count, resets_at`;
  if (!row || row.count <= attempts) return 0;
  return Math.max(1, row.resets_at.getTime() - nowMs);
}

/**
 * Only reads: counts nothing.
 *
 * @returns milliseconds until none of these allowances is used up; 0: none is
 */
export async function remainingWait(
  db: Db,
  nowMs: number,
  allowances: readonly (readonly [key: string, allowance: Allowance])[],
): Promise<number> {
  const attempts = new Map(allowances.map(([key, allowance]) => [key, allowance.attempts]));
  const rows = await db.signInAttempt.findMany({ where: { key: { in: [...attempts.keys()] } } });
  const usedUp = rows.filter(({ key, count }) => count >= (attempts.get(key) ?? 0));
  return Math.max(0, ...usedUp.map(({ resetsAt }) => resetsAt.getTime() - nowMs));
}

/** Takes back an attempt that turned out not to be one. */
export async function giveBack(db: Db, key: string): Promise<void> {
  await db.signInAttempt.updateMany({ where: { key }, data: { count: { decrement: 1 } } });
}

/** Gives the whole allowance back. */
export async function renew(db: Db, key: string): Promise<void> {
  await db.signInAttempt.deleteMany({ where: { key } });
}
