import type { Db } from '@tidegate/db';
import type { Logger } from '@tidegate/runtime';
import { KEPT_DAYS } from '../settlements/parse.ts';

const EVERY_MS = 10 * 60_000;
const RETRY_MS = 10_000;
/** Organizations in one run. */
const MAX_ORGS = 20;

export interface LeftoversOptions {
  readonly db: Db;
  readonly logger: Logger;
  readonly auditKeepDays: number;
}

/**
 * Deletes what nobody else deletes in time: usage of deleted organizations that the program which
 * deleted them did not get to, and audit events and refusals that are too old.
 */
export class Leftovers {
  readonly #options: LeftoversOptions;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: LeftoversOptions) {
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

  #runIn(delayMs: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.run().then(
        () => this.#runIn(EVERY_MS),
        (err) => {
          this.#options.logger.warn({ err }, 'leftovers could not be deleted');
          this.#runIn(RETRY_MS);
        },
      );
    }, delayMs);
    this.#timer.unref();
  }
}
