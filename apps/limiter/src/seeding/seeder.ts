import { orgIdOfTag } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import { LRUCache } from 'lru-cache';
import { LimiterError } from '../limiter-error.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { TIMING } from '../timing.ts';
import { ReadThrough } from './read-through.ts';
import { type MonthRow, readIsDeleted, readKey, readMonth, readOrgs } from './rows.ts';
import { ensureLifeNames, readUnseeded, seedKey, seedMonth, unnameOrg, writeOrg } from './seed.ts';

const READS = { maxRunning: 8, maxWaiting: 2_000 } as const;
const MISSES = { max: 10_000, ttl: 5_000 } as const;
const ORGS_PER_QUERY = 500;
const MAX_READS = 5;

export interface SeederOptions {
  /** Default: that of `TIMING`. */
  readonly readTimeoutMs?: number;
  /** Called when an organization's state was lost. It has been written again and is recovering. */
  readonly onStateLost?: (orgId: string) => void;
}

/** Reads Postgres and seeds Redis where it has nothing yet. All rejections are LimiterError. */
export class Seeder {
  readonly #scriptDeps: ScriptDeps;
  readonly #db: Db;
  readonly #onStateLost: (orgId: string) => void;
  readonly #reads: ReadThrough;
  /**
   * What Postgres did not have a moment ago, so that guessed key values do not become queries. A
   * new key is never in here, because nobody can have asked for its value before. Every
   * write-through clears it anyway.
   */
  readonly #misses = new LRUCache<string, true>(MISSES);

  constructor(
    scriptDeps: ScriptDeps,
    db: Db,
    { readTimeoutMs = TIMING.readTimeoutMs, onStateLost = () => {} }: SeederOptions = {},
  ) {
    this.#scriptDeps = scriptDeps;
    this.#db = db;
    this.#reads = new ReadThrough({ ...READS, timeoutMs: readTimeoutMs });
    this.#onStateLost = onStateLost;
  }

  /**
   * Runs each query once, so that connections are open and queries planned before a caller needs
   * them. Resolves to the reason if Postgres did not answer, otherwise to null. Without Postgres,
   * what Redis has is served all the same.
   */
  async warm(): Promise<LimiterError | null> {
    const nobody = 'org_';
    const reads = () =>
      Promise.all([
        readKey(this.#db, { id: '' }),
        readOrgs(this.#db, new Map([[nobody, '']])),
        readMonth(this.#db, nobody, '2000-01'),
      ]);
    return this.#reads.read('warm', reads).then(
      () => null,
      (error: LimiterError) => error,
    );
  }

  /**
   * Seeds the key with this hash. Resolves to its id, or to null if the organization has no such
   * key.
   */
  findKey(orgTag: string, hash: Buffer): Promise<string | null> {
    const hex = hash.toString('hex');
    const name = `hash ${orgTag} ${hex}`;
    if (this.#misses.has(name)) return Promise.resolve(null);
    return this.#reads.read(name, async () => {
      const key = await readKey(this.#db, { hash: new Uint8Array(hash) });
      if (!key || key.orgId !== orgIdOfTag(orgTag)) {
        this.#misses.set(name, true);
        return null;
      }
      await seedKey(this.#scriptDeps, key);
      return key.keyId;
    });
  }

  /** Resolves to false if the organization has no such key. */
  seedKey(orgId: string, keyId: string): Promise<boolean> {
    const name = `key ${orgId} ${keyId}`;
    if (this.#misses.has(name)) return Promise.resolve(false);
    return this.#reads.read(name, async () => {
      const key = await readKey(this.#db, { id: keyId });
      if (!key || key.orgId !== orgId) {
        this.#misses.set(name, true);
        return false;
      }
      await seedKey(this.#scriptDeps, key);
      return true;
    });
  }

  /** Resolves to false if there is no such organization. */
  seedOrg(orgId: string): Promise<boolean> {
    return this.#reads.read(`org ${orgId}`, async () => (await this.#writeOrgs([orgId])).known > 0);
  }

  isDeleted(orgId: string): Promise<boolean> {
    return this.#reads.read(`deleted ${orgId}`, () => readIsDeleted(this.#db, orgId));
  }

  /**
   * Seeds a month, including what was settled in it before. Each settlement is counted once,
   * whether Postgres' totals contain it or not.
   */
  seedMonth(orgId: string, month: string): Promise<void> {
    return this.#reads.read(`month ${orgId} ${month}`, async () => {
      for (let attempt = 0; attempt < MAX_READS; attempt++) {
        const unseeded = await readUnseeded(this.#scriptDeps, orgId, month);
        const { settled, days } = unseeded;
        const totals = await readMonth(this.#db, orgId, month, { ids: [...settled.keys()], days });
        const unwritten = [...settled].filter(([id]) => !totals.written.has(id));
        const requests = totals.requests + unwritten.length;
        const chargedTokens = unwritten.reduce((sum, [, charged]) => sum + charged, totals.chargedTokens);
        if (await seedMonth(this.#scriptDeps, orgId, month, { requests, chargedTokens }, unseeded)) return;
      }
      throw new LimiterError('state', 'a month changed faster than it could be read');
    });
  }

  /** The totals that Postgres has. */
  monthTotals(orgId: string, month: string): Promise<MonthRow> {
    return this.#reads.read(`totals ${orgId} ${month}`, () => readMonth(this.#db, orgId, month));
  }

  /**
   * Writes the current limits through. Uses its own read, never one that began earlier. Resolves to
   * how many of the organizations had lost their state, and begin to recover with this call.
   */
  async refreshOrgs(orgIds: readonly string[]): Promise<number> {
    this.#misses.clear();
    let lost = 0;
    for (let i = 0; i < orgIds.length; i += ORGS_PER_QUERY)
      lost += (await this.#writeOrgs(orgIds.slice(i, i + ORGS_PER_QUERY))).lost;
    return lost;
  }

  /**
   * Overwrites limits in Redis that are newer than those in Postgres, because Postgres is an older
   * copy. Where Postgres has caught up since the version in Redis was read, nothing is done.
   *
   * @param versions in Redis, by organization
   * @returns the organizations whose limits were overwritten
   */
  async overwriteNewerLimits(versions: ReadonlyMap<string, number>): Promise<string[]> {
    const rows = await readOrgs(this.#db, await ensureLifeNames(this.#scriptDeps, [...versions.keys()]));
    const older = rows.filter(({ orgId, version }) => version < (versions.get(orgId) ?? 0));
    const codes = await Promise.all(
      older.map((row) => writeOrg(this.#scriptDeps, row, versions.get(row.orgId) ?? null)),
    );
    return older.filter((_, i) => codes[i] === 'written').map(({ orgId }) => orgId);
  }

  /** Returns how many of the organizations exist, and how many of these had lost their state. */
  async #writeOrgs(orgIds: readonly string[]): Promise<{ known: number; lost: number }> {
    const rows = await readOrgs(this.#db, await ensureLifeNames(this.#scriptDeps, orgIds));
    const written = await Promise.all(
      rows.map(async (row) => ({ ...row, code: await writeOrg(this.#scriptDeps, row) })),
    );
    if (written.some(({ code }) => code === 'another_life'))
      throw new LimiterError('state', "an organization's state was lost while it was being seeded");
    const known = new Set(rows.map(({ orgId }) => orgId));
    const unknown = orgIds.filter((orgId) => !known.has(orgId));
    await Promise.all(unknown.map((orgId) => unnameOrg(this.#scriptDeps, orgId)));
    const lost = written.filter(({ code }) => code === 'recovering');
    for (const { orgId } of lost) this.#onStateLost(orgId);
    return { known: rows.length, lost: lost.length };
  }

  /** Called when another limiter has written something through. */
  forgetMisses(): void {
    this.#misses.clear();
  }
}
