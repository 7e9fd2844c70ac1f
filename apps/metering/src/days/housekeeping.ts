import { type Db, sqlStateOf, TOOK_TOO_LONG } from '@tidegate/db';
import { HOUR_MS, KEPT_DAYS } from '@tidegate/limits';
import { type Chore, type Logger, startChore } from '@tidegate/runtime';
import type { SettlementJobs } from '../queue/settlement-jobs.ts';

const EVERY_MS = 10 * 60_000;
const SOON_MS = 10_000;
/** Organizations in one run. */
const MAX_ORGS = 20;
/**
 * Steps in one run to delete the usage of deleted organizations. Other work goes on between two
 * runs.
 */
const MAX_PURGES = 200;
/** Days of organizations that are recounted in one run. */
const MAX_RECOUNTS = 2_000;
const DAY_HOURS = 24;

export interface HousekeepingOptions {
  readonly db: Db;
  readonly queue: Pick<SettlementJobs, 'dropDead'>;
  readonly logger: Logger;
  readonly auditKeepDays: number;
}

interface Deleted {
  readonly rows: number;
}

/**
 * Periodic clean-up. Deletes what is left of deleted organizations' usage and dead letters; expired
 * audit events, refusals and hourly usage; and expired page keys. Recounts hours that do not add up
 * to their day, as after an upgrade from a release whose metering wrote no hours.
 */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  #chore: Chore | undefined;
  #stopped = false;
  /** Whether the last run left usage of deleted organizations. */
  #left = false;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  /** The time until `run` should be called again. */
  get nextMs(): number {
    return this.#left ? SOON_MS : EVERY_MS;
  }

  start(): void {
    this.#chore = startChore({
      everyMs: EVERY_MS,
      nextMs: () => this.nextMs,
      retryMs: SOON_MS,
      due: true,
      run: () => this.run(),
      onError: (err) => this.#options.logger.warn({ err }, 'housekeeping failed and will be tried again'),
    });
  }

  /** Resolves when the step under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#chore?.stop();
  }

  /** Works in small steps. If it is interrupted, or leaves something, the next run continues. */
  async run(): Promise<void> {
    const { db, queue, logger, auditKeepDays } = this.#options;
    this.#left = await this.#purgeOrgs();
    const events = await this.#deleteAll(
      () => db.$queryRaw<Deleted[]>`SELECT prune_audit_events(${auditKeepDays}::int) AS rows`,
    );
    if (events > 0) logger.info({ events }, 'old audit events deleted');
    const rows = await this.#deleteAll(
      () => db.$queryRaw<Deleted[]>`SELECT prune_refusals(${KEPT_DAYS.refusals}::int) AS rows`,
    );
    if (rows > 0) logger.info({ rows }, 'old refusals deleted');
    await this.#deleteAll(
      () => db.$queryRaw<Deleted[]>`
        SELECT prune_usage_hours((now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS.usageHours - 1}::int) AS rows`,
    );
    const keys = await this.#deleteAll(() => db.$queryRaw<Deleted[]>`SELECT delete_ended_keys() AS rows`);
    if (keys > 0) logger.info({ keys }, 'expired page keys deleted');
    const hours = await this.#recountHours();
    if (hours > 0) logger.info({ hours }, 'hourly usage recounted');
    const settlements = await queue.dropDead((orgIds) => this.#deletedOf(orgIds));
    if (settlements > 0)
      logger.info({ settlements }, "deleted organizations' settlements removed from dead letters");
  }

  /** Repeats a step until it deletes nothing. Resolves to how many rows it deleted. */
  async #deleteAll(step: () => Promise<Deleted[]>): Promise<number> {
    let total = 0;
    while (!this.#stopped) {
      const [deleted] = await step();
      if (!deleted || deleted.rows === 0) break;
      total += deleted.rows;
    }
    return total;
  }

  /** Deletes the usage of deleted organizations. Resolves to whether it may have left some. */
  async #purgeOrgs(): Promise<boolean> {
    const { db } = this.#options;
    const orgs = await db.$queryRaw<{ id: string }[]>`
      SELECT org_id AS id FROM deleted_org WHERE purged_at IS NULL ORDER BY deleted_at LIMIT ${MAX_ORGS}`;
    let steps = MAX_PURGES;
    for (const { id } of orgs)
      for (let more = true; more; steps--) {
        if (this.#stopped || steps === 0) return true;
        const [step] = await db.$queryRaw<{ more: boolean }[]>`SELECT purge_organization(${id}) AS more`;
        more = step?.more ?? false;
      }
    return orgs.length === MAX_ORGS;
  }

  async #deletedOf(orgIds: readonly string[]): Promise<ReadonlySet<string>> {
    const orgs = await this.#options.db.$queryRaw<{ id: string }[]>`
      SELECT org_id AS id FROM deleted_org WHERE org_id = ANY(${orgIds})`;
    return new Set(orgs.map(({ id }) => id));
  }

  /**
   * Recounts the days whose hours do not add up to them, unless another worker does. Resolves to
   * how many hours it counted.
   */
  async #recountHours(): Promise<number> {
    const { db, logger } = this.#options;
    if (this.#stopped) return 0;
    const wrong = await db.$queryRaw<{ org_id: string; day: string }[]>`
      WITH first AS (SELECT (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS.usageHours - 1}::int AS day)
      SELECT org_id, days.day::text FROM (
        SELECT org_id, day, sum(requests) AS requests FROM usage_day
        WHERE day >= (SELECT day FROM first) GROUP BY 1, 2
      ) days LEFT JOIN (
        SELECT org_id, (hour AT TIME ZONE 'UTC')::date AS day, sum(requests) AS requests FROM usage_hour
        WHERE hour >= (SELECT day::timestamp AT TIME ZONE 'UTC' FROM first) GROUP BY 1, 2
      ) hours USING (org_id, day)
      WHERE days.requests IS DISTINCT FROM hours.requests
        AND NOT EXISTS (SELECT FROM deleted_org WHERE deleted_org.org_id = days.org_id)
      ORDER BY days.day DESC LIMIT ${MAX_RECOUNTS}`;
    let hours = 0;
    for (const { org_id: orgId, day } of wrong)
      for (let hour = 0; hour < DAY_HOURS; hour++) {
        if (this.#stopped) return hours;
        const at = new Date(Date.parse(day) + hour * HOUR_MS);
        try {
          const [counted] = await db.$queryRaw<{ counted: boolean }[]>`
            SELECT recount_usage_hour(${orgId}, ${at}) AS counted`;
          if (!counted?.counted) return hours;
          hours++;
        } catch (err) {
          // It would take too long again: others come first, and the next run tries again.
          if (sqlStateOf(err) !== TOOK_TOO_LONG) throw err;
          logger.warn({ err, orgId, at }, 'an hour took too long to recount: the next run tries again');
        }
      }
    return hours;
  }
}
