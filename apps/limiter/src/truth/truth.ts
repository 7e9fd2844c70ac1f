import { orgIdOfTag } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import type { Context } from '../context.ts';
import { Undecided } from '../undecided.ts';
import { Misses } from './misses.ts';
import { ReadThrough } from './read-through.ts';
import { readKey, readMonth, readOrgs } from './rows.ts';
import { seedKey, seedMonth, writeOrg } from './seed.ts';

const READS = { maxRunning: 8, maxWaiting: 2_000, timeoutMs: 4_000 } as const;
const MISSES = { max: 10_000, keepMs: 5_000 } as const;
const ORGS_PER_QUERY = 500;

/** Reads Postgres and seeds Redis with what it says, where Redis has nothing yet. All rejections are Undecided. */
export class Truth {
  readonly #context: Context;
  readonly #db: Db;
  readonly #reads = new ReadThrough(READS);
  readonly #misses = new Misses(MISSES);

  constructor(context: Context, db: Db) {
    this.#context = context;
    this.#db = db;
  }

  /**
   * Asks Postgres once for each thing, so that connections stand and the client has planned its queries before somebody waits for
   * them. Resolves to whether Postgres answered; without it what Redis has is served all the same.
   */
  async warm(): Promise<boolean> {
    const nobody = 'org_';
    const reads = () =>
      Promise.all([
        readKey(this.#db, { id: '' }),
        readOrgs(this.#db, [nobody]),
        readMonth(this.#db, nobody, ''),
      ]);
    return this.#reads.read('warm', reads).then(
      () => true,
      () => false,
    );
  }

  /** Seeds the key with this hash; its id, or null when the organization has none such. */
  findKey(orgTag: string, hash: Buffer): Promise<string | null> {
    const hex = hash.toString('hex');
    const name = `hash ${orgTag} ${hex}`;
    if (this.#misses.has(name)) return Promise.resolve(null);
    return this.#reads.read(name, async () => {
      const key = await readKey(this.#db, { hash: new Uint8Array(hash) });
      if (!key || key.orgId !== orgIdOfTag(orgTag)) {
        this.#misses.add(name);
        return null;
      }
      await seedKey(this.#context, key);
      return key.keyId;
    });
  }

  /** False: the organization has no such key. */
  seedKey(orgId: string, keyId: string): Promise<boolean> {
    const name = `key ${orgId} ${keyId}`;
    if (this.#misses.has(name)) return Promise.resolve(false);
    return this.#reads.read(name, async () => {
      const key = await readKey(this.#db, { id: keyId });
      if (!key || key.orgId !== orgId) {
        this.#misses.add(name);
        return false;
      }
      await seedKey(this.#context, key);
      return true;
    });
  }

  seedOrg(orgId: string): Promise<void> {
    return this.#reads.read(`org ${orgId}`, async () => {
      const [org] = await readOrgs(this.#db, [orgId]);
      if (!org) throw new Undecided('state', 'no such organization');
      await writeOrg(this.#context, org);
    });
  }

  seedMonth(orgId: string, month: string): Promise<void> {
    return this.#reads.read(`month ${orgId} ${month}`, async () =>
      seedMonth(this.#context, orgId, month, await readMonth(this.#db, orgId, month)),
    );
  }

  /** Writes the limits in force through. A read of its own, never shared with one that began earlier. */
  async refreshOrgs(orgIds: readonly string[]): Promise<void> {
    this.#misses.clear();
    for (let i = 0; i < orgIds.length; i += ORGS_PER_QUERY) {
      const rows = await readOrgs(this.#db, orgIds.slice(i, i + ORGS_PER_QUERY));
      await Promise.all(rows.map((row) => writeOrg(this.#context, row)));
    }
  }

  /** Something was written through elsewhere. */
  forgetMisses(): void {
    this.#misses.clear();
  }
}
