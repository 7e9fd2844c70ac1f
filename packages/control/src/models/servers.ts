import type { Actor } from '../access/access.ts';
import type { Tx } from '../deps.ts';
import { refuse } from '../result.ts';

/** The most model servers that an organization may have. The runner keeps probing each of them. */
export const MOST_SERVERS = 256;

interface Published {
  /** Null: it is not published yet. */
  readonly id: string | null;
  readonly settings: object;
}

/**
 * Why owners may not publish a model with these settings: the organization would have too many
 * servers. Null: they may. A change to fewer servers is always allowed. The organization is locked,
 * so concurrent changes cannot exceed the limit together.
 */
export async function refuseServers(tx: Tx, actor: Actor, orgId: string, { id, settings }: Published) {
  // Machines are the operator's.
  if (actor.kind === 'operator') return null;
  const { urls, replicas } = settings as { readonly urls?: readonly string[]; readonly replicas?: number };
  const wanted = urls?.length ?? replicas ?? 1;
  const [row] = await tx.$queryRaw<{ all: number; own: number }[]>`
    WITH one AS (
      SELECT id, coalesce(jsonb_array_length(settings->'urls'), (settings->>'replicas')::int, 1) AS servers
      FROM model WHERE org_id = ${orgId} AND deleted_at IS NULL)
    SELECT coalesce(sum(servers), 0)::int AS "all",
      coalesce(sum(servers) FILTER (WHERE id = ${id}), 0)::int AS own FROM one`;
  const { all = 0, own = 0 } = row ?? {};
  if (wanted <= own || all - own + wanted <= MOST_SERVERS) return null;
  return refuse(
    'limit_reached',
    `An organization has at most ${MOST_SERVERS} model servers, and the other models have ${all - own}: delete one first, or ask an operator.`,
    urls ? 'urls' : 'replicas',
  );
}
