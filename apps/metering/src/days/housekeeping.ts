import type { Db } from '@tidegate/db';
import type { Logger } from '@tidegate/runtime';
import { KEPT_DAYS } from '../settlements/parse.ts';

const EVERY_MS = 10 * 60_000;
const RETRY_MS = 10_000;
/** Organizations in one run. */
const MAX_ORGS = 20;
/** Usage by the hour is kept for these UTC days, today included. */
const HOURS_KEPT_DAYS = 8;
/** Days of organizations that are recounted in one run. */
const MAX_RECOUNTS = 2_000;

export interface HousekeepingOptions {
  readonly db: Db;
  readonly logger: Logger;
  readonly auditKeepDays: number;
}

/**
 * Does what nobody else does in time. Deletes usage of deleted organizations that the program which
 * deleted them did not get to, audit events, refusals and usage by the hour that are too old, and
 * keys that a page made for itself and could not delete.
 * Counts hours again that do not add up to their day, as after an upgrade: metering of the release
 * before writes no hours.
 */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  start(): void {
    this.#runIn(0);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** In small steps. If it is interrupted, the next run goes on. */
  async run(): Promise<void> {
    const { db, logger, auditKeepDays } = this.#options;
    const orgs = await db.$queryRaw<{ org_id: string }[]>`
      SELECT org_id FROM deleted_org WHERE purged_at IS NULL ORDER BY deleted_at LIMIT ${MAX_ORGS}`;
    for (const { org_id: orgId } of orgs) while (!this.#stopped && (await this.#purgeDay(orgId)));
    const events = await this.#all(() => this.#pruneAudit(auditKeepDays));
    if (events > 0) logger.info({ events }, 'old audit events deleted');
    const rows = await this.#all(() => this.#pruneRefusals());
    if (rows > 0) logger.info({ rows }, 'old refusals deleted');
    await this.#all(() => this.#pruneHours());
    const keys = await this.#all(() => this.#deleteEndedKeys());
    if (keys > 0) logger.info({ keys }, 'ended keys of pages deleted');
    const recounted = await this.#recountHours();
    if (recounted > 0) logger.info({ days: recounted }, 'usage by the hour counted again');
  }

  /** Repeats a step until it deletes nothing. Resolves to how many rows it deleted. */
  async #all(step: () => Promise<number>): Promise<number> {
    let pruned = 0;
    let some = 0;
    do {
      some = await step();
      pruned += some;
    } while (some > 0 && !this.#stopped);
    return pruned;
  }

  async #pruneHours(): Promise<number> {
    const [row] = await this.#options.db.$queryRaw<{ pruned: number }[]>`
      SELECT prune_usage_hours((now() AT TIME ZONE 'UTC')::date - ${HOURS_KEPT_DAYS - 1}::int) AS pruned`;
    return row?.pruned ?? 0;
  }

  async #recountHours(): Promise<number> {
    const { db } = this.#options;
    const wrong = await db.$queryRaw<{ org_id: string; day: string }[]>`
      WITH first AS (SELECT (now() AT TIME ZONE 'UTC')::date - ${HOURS_KEPT_DAYS - 1}::int AS day)
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
    let recounted = 0;
    for (const { org_id: orgId, day } of wrong) {
      if (this.#stopped) break;
      await db.$queryRaw`SELECT recount_usage_hours(${orgId}, ${day}::date)::text`;
      recounted++;
    }
    return recounted;
  }

  async #purgeDay(orgId: string): Promise<boolean> {
    const [row] = await this.#options.db.$queryRaw<{ more: boolean }[]>`
      SELECT purge_organization(${orgId}) AS more`;
    return row?.more ?? false;
  }

  async #pruneAudit(keepDays: number): Promise<number> {
    const [row] = await this.#options.db.$queryRaw<{ pruned: number }[]>`
      SELECT prune_audit_events(${keepDays}::int) AS pruned`;
    return row?.pruned ?? 0;
  }

  async #pruneRefusals(): Promise<number> {
    const [row] = await this.#options.db.$queryRaw<{ pruned: number }[]>`
      SELECT prune_refusals(${KEPT_DAYS}::int) AS pruned`;
    return row?.pruned ?? 0;
  }

  async #deleteEndedKeys(): Promise<number> {
    const [row] = await this.#options.db.$queryRaw<{ ended: number }[]>`SELECT delete_ended_keys() AS ended`;
    return row?.ended ?? 0;
  }

  #runIn(delayMs: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.run().then(
        () => this.#runIn(EVERY_MS),
        (err) => {
          this.#options.logger.warn({ err }, 'housekeeping failed and will be tried again');
          this.#runIn(RETRY_MS);
        },
      );
    }, delayMs);
    this.#timer.unref();
  }
}
