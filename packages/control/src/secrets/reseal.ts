import { seal, underKey, unseal } from '@tidegate/contracts';
import { type Actor, operatorOnly } from '../access/access.ts';
import { audit, auditInEach } from '../access/audit.ts';
import type { ControlDeps } from '../deps.ts';
import { holdOrg } from '../members/lock.ts';
import { ok, type Result } from '../result.ts';

/** What became of the upstream keys of all models, deleted ones included. */
export interface Resealed {
  /**
   * Now sealed under the secret key. Before, they were under the previous one, or did not name
   * theirs.
   */
  readonly resealed: number;
  /** Already under the secret key. */
  readonly unchanged: number;
  /** The ids of models whose key opens under neither. They were left as they are. */
  readonly unreadable: readonly string[];
  /** The same models, by name. */
  readonly unreadableModels: readonly UnreadableModel[];
  /**
   * Whether runners know everything that was resealed. One that could not be reached reads it when
   * it is back.
   */
  readonly runnerReached: boolean;
}

export interface UnreadableModel {
  readonly id: string;
  /** The slug of its organization. */
  readonly org: string;
  readonly name: string;
  /** A deleted model no longer needs its key. */
  readonly deleted: boolean;
}

const BATCH = 200;

/**
 * Seals all upstream keys under the secret key. It can be repeated, and run while models are
 * published and called: only what they are sealed under changes, not the keys themselves. For
 * operators only.
 */
export async function resealSecrets(deps: ControlDeps, actor: Actor): Promise<Result<Resealed>> {
  const allowed = operatorOnly(actor);
  if (!allowed.ok) return allowed;
  let [resealed, unchanged] = [0, 0];
  const unreadable: SealedKey[] = [];
  const notReached: SealedKey[] = [];
  for await (const row of sealedKeys(deps)) {
    const fresh = freshlySealed(deps, row.upstreamKey);
    if (fresh === 'unchanged') unchanged++;
    else if (fresh === null) unreadable.push(row);
    else if (await replace(deps, actor, row, fresh)) {
      resealed++;
      if (row.deletedAt === null) notReached.push(row);
    }
  }
  const details = { resealed, unchanged, unreadable: unreadable.length };
  const event = { action: 'secrets.reseal', target: 'upstream keys', details } as const;
  if (resealed > 0) await deps.db.$transaction((tx) => auditInEach(tx, actor, deps.now(), [], event));
  return ok({
    resealed,
    unchanged,
    unreadable: unreadable.map(({ id }) => id),
    unreadableModels: unreadable.map(({ id, org, name, deletedAt }) => ({
      id,
      org: org.slug,
      name,
      deleted: deletedAt !== null,
    })),
    runnerReached: await tellRunners(deps, notReached),
  });
}

/** Goes on with other pools when the runner of one cannot be reached. */
async function tellRunners({ runner }: ControlDeps, models: readonly SealedKey[]): Promise<boolean> {
  const away = new Set<string>();
  for (const { id, pool } of models) {
    if (!away.has(pool)) await runner.refresh(id, pool).catch(() => away.add(pool));
  }
  return away.size === 0;
}

type Sealed = Uint8Array<ArrayBuffer>;

interface SealedKey {
  readonly id: string;
  readonly orgId: string;
  readonly org: { readonly slug: string };
  readonly name: string;
  readonly pool: string;
  readonly deletedAt: Date | null;
  readonly upstreamKey: Sealed;
}

async function* sealedKeys({ db }: ControlDeps): AsyncGenerator<SealedKey> {
  for (let after = ''; ; ) {
    const rows = await db.model.findMany({
      where: { id: { gt: after }, upstreamKey: { not: null } },
      select: {
        ...{ id: true, orgId: true, name: true, pool: true, deletedAt: true, upstreamKey: true },
        org: { select: { slug: true } },
      },
      orderBy: { id: 'asc' },
      take: BATCH,
    });
    for (const { upstreamKey, ...row } of rows) if (upstreamKey) yield { ...row, upstreamKey };
    const last = rows.at(-1);
    if (!last || rows.length < BATCH) return;
    after = last.id;
  }
}

/** Null: it opens under neither key. */
function freshlySealed(
  { secretKey, previousSecretKey }: ControlDeps,
  sealed: Sealed,
): Sealed | 'unchanged' | null {
  const text = unseal([secretKey, ...(previousSecretKey ? [previousSecretKey] : [])], sealed);
  if (text === null) return null;
  return underKey(secretKey, sealed) ? 'unchanged' : Uint8Array.from(seal(secretKey, text));
}

/**
 * Replaces the value unless someone else just did. False: someone did. The version grows, so that
 * runners read the row again: one that could not open the value may be able to now.
 */
const replace = (
  { db, now }: ControlDeps,
  actor: Actor,
  { id, orgId, name, upstreamKey }: SealedKey,
  to: Sealed,
): Promise<boolean> =>
  db.$transaction(async (tx) => {
    await holdOrg(tx, orgId);
    const { count } = await tx.model.updateMany({
      where: { id, upstreamKey },
      data: { upstreamKey: to, version: { increment: 1 } },
    });
    const event = { orgId, action: 'model.reseal', target: id, details: { name } } as const;
    if (count > 0) await audit(tx, actor, now(), [event]);
    return count > 0;
  });
