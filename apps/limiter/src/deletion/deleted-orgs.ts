import type { Db } from '@tidegate/db';
import { type Chore, createOutage, type Logger, startChore } from '@tidegate/runtime';
import type { NoticeHub } from '../notices/hub.ts';
import type { RedisLink } from '../redis/link.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { readIsDeleted } from '../seeding/rows.ts';
import { forgetOrg } from './forget.ts';

/** Organizations in one run. */
const MAX_ORGS = 20;

export interface DeletedOrgsOptions extends ScriptDeps {
  readonly db: Db;
  readonly notices: NoticeHub;
}

/**
 * Finishes what ForgetOrg began, or what nobody asked for because the program that deleted the
 * organization died. For a minute after the deletion, each run forgets the organization again: a
 * limiter may have read Postgres before the deletion and write Redis after it, and a gateway may
 * have missed the notice. Any limiter may do this, even several at once.
 */
export class DeletedOrgs {
  readonly #options: DeletedOrgsOptions;

  constructor(options: DeletedOrgsOptions) {
    this.#options = options;
  }

  /** Rejects if an organization could not be forgotten, but only after the others are done. */
  async run(): Promise<void> {
    const { db } = this.#options;
    const orgs = await db.$queryRaw<{ org_id: string; final: boolean }[]>`
      SELECT org_id, deleted_at < now() - interval '1 minute' AS final FROM deleted_org
      WHERE forgotten_at IS NULL ORDER BY deleted_at LIMIT ${MAX_ORGS}`;
    const errors: unknown[] = [];
    const done: string[] = [];
    for (const { org_id, final } of orgs) {
      try {
        await this.forget(org_id);
        if (final) done.push(org_id);
      } catch (error) {
        errors.push(error);
      }
    }
    if (done.length > 0)
      await db.$executeRaw`
        UPDATE deleted_org SET forgotten_at = now()
        WHERE org_id = ANY(${done}::text[]) AND forgotten_at IS NULL`;
    if (errors.length > 0) throw errors[0];
  }

  /** Forgets an organization again that an older copy of Redis has brought back. */
  async forgetIfDeleted(orgId: string): Promise<void> {
    if (await readIsDeleted(this.#options.db, orgId)) await this.forget(orgId);
  }

  /** Resolves when no gateway admits a request of the organization any more. */
  async forget(orgId: string): Promise<void> {
    await forgetOrg(this.#options, orgId);
    await this.#options.notices.publish({ orgDeleted: { orgId } });
  }
}

/** Starts the chore, which does nothing while Redis is unavailable. */
export function startForgetting(options: {
  readonly deletedOrgs: DeletedOrgs;
  readonly link: RedisLink;
  readonly everyMs: number;
  readonly logger: Logger;
}): Chore {
  const { deletedOrgs, link, everyMs, logger } = options;
  const outage = createOutage(logger, 'the removal of deleted organizations from Redis failed');
  return startChore({
    everyMs,
    onError: (err) => outage.failed(err),
    run: async () => {
      if (!link.ready()) return;
      await deletedOrgs.run();
      outage.worked();
    },
  });
}
