import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from './client.ts';
import { sqlStateOf } from './explain.ts';
import { MIGRATIONS } from './migrate.ts';
import { postgresTooOld } from './server-version.ts';

/** How often to look again: rarely once the database is new enough, since it stays so. */
const RECHECK_EVERY_MS = { current: 60_000, behind: 2_000 };
/** How long a caller waits for an answer. A later one serves the next caller. */
const PATIENCE_MS = 500;
/** There is no table of migrations, or it dates from before services could read it. */
const OLDER = new Set(['42P01', '42501']);

export interface SchemaVersionOptions {
  readonly db: Pick<Db, '$queryRaw'>;
  /** Monotonic clock. */
  readonly nowMs: () => number;
  /**
   * Called each time the database turns out to lack something. `problem` says what, and what to
   * run.
   */
  readonly onBehind?: (problem: string) => void;
  /** Migrations in Prisma's layout; default: this package's. */
  readonly directory?: string;
}

/**
 * Tells whether the database has all migrations of this release, on a server that is new enough. It
 * may have more: a release works with the schema of the next one.
 */
export class SchemaVersion {
  readonly #options: SchemaVersionOptions;
  readonly #required: readonly string[];
  #problem: string | null = null;
  #lookAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;

  constructor(options: SchemaVersionOptions) {
    this.#options = options;
    this.#required = readdirSync(options.directory ?? MIGRATIONS, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort();
  }

  /**
   * Resolves to what is wrong and what to run, or to null. While Postgres cannot be asked, the last
   * answer stands; at first that is null. Asks at most every 2 s. Never rejects.
   */
  async problem(): Promise<string | null> {
    if (this.#options.nowMs() >= this.#lookAtMs) this.#looking ??= this.#look();
    if (this.#looking) await Promise.race([this.#looking, sleep(PATIENCE_MS, undefined, { ref: false })]);
    return this.#problem;
  }

  /**
   * The migrations of this release that the database lacks, oldest first.
   * @throws the error of the database
   */
  async missing(): Promise<string[]> {
    const applied = await this.#applied();
    return this.#required.filter((name) => !applied.has(name));
  }

  async #serverVersion(): Promise<string> {
    const [row] = await this.#options.db.$queryRaw<{ version: string }[]>`
      SELECT current_setting('server_version') AS version`;
    return row?.version ?? '';
  }

  async #look(): Promise<void> {
    let everyMs = RECHECK_EVERY_MS.behind;
    try {
      const before = this.#problem;
      this.#problem = postgresTooOld(await this.#serverVersion()) ?? describe(await this.missing());
      if (this.#problem !== null && this.#problem !== before) this.#options.onBehind?.(this.#problem);
      if (this.#problem === null) everyMs = RECHECK_EVERY_MS.current;
    } catch {
      // A service that needs Postgres reports its absence itself. A limiter can do without.
    }
    this.#lookAtMs = this.#options.nowMs() + everyMs;
    this.#looking = undefined;
  }

  async #applied(): Promise<ReadonlySet<string>> {
    try {
      const rows = await this.#options.db.$queryRaw<{ migration_name: string }[]>`
        SELECT migration_name FROM _prisma_migrations
        WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`;
      return new Set(rows.map((row) => row.migration_name));
    } catch (error) {
      if (OLDER.has(sqlStateOf(error) ?? '')) return new Set();
      throw error;
    }
  }
}

/** Looks now and whenever it is asked, and logs what the database lacks. */
export function watchSchema(
  db: Db,
  logger: { error(fields: object, message: string): void },
): Pick<SchemaVersion, 'problem'> {
  const schema = new SchemaVersion({
    db,
    nowMs: () => performance.now(),
    onBehind: (problem) => logger.error({ problem }, 'the database is older than this release'),
  });
  void schema.problem();
  return schema;
}

function describe(missing: readonly string[]): string | null {
  if (missing.length === 0) return null;
  const which = missing.length === 1 ? `migration ${missing[0]}` : `${missing.length} migrations`;
  return `the database lacks ${which} of this release: run migrate, as docs/upgrades.md says`;
}
