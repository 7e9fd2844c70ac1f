import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField, reference, whole } from '../fields.ts';
import { ok, parseInput, type Result } from '../result.ts';

const MAX_PAGE = 200;
const DEFAULT_PAGE = 50;

export interface AuditView {
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
  /** A user's e-mail, or `ctl`. */
  readonly actor: string;
  /** noun.verb */
  readonly action: string;
  /** The id of what was changed. */
  readonly target: string;
  /** Names and settings at that time. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface AuditPage {
  readonly events: readonly AuditView[];
  /** Pass this as `before` to get the next page, with older events. Null: there are none. */
  readonly next: string | null;
}

const auditInput = z.object({
  org: orgField,
  /** The id of an event. Only older events are listed. */
  before: reference('Before').optional(),
  limit: whole('Limit', 1, MAX_PAGE).default(DEFAULT_PAGE),
});
export type ListAuditInput = z.input<typeof auditInput>;

/** Lists the organization's audit events, newest first, in pages. */
export async function listAudit(
  deps: ControlDeps,
  actor: Actor,
  input: ListAuditInput,
): Promise<Result<AuditPage>> {
  const parsed = parseInput(auditInput, input);
  if (!parsed.ok) return parsed;
  const { before, limit } = parsed.value;
  const org = await access(deps, actor, parsed.value.org, 'audit.list');
  if (!org.ok) return org;
  const orgId = org.value.id;
  const from =
    before === undefined ? null : await deps.db.auditEvent.findFirst({ where: { id: before, orgId } });
  const rows = await deps.db.auditEvent.findMany({
    where: {
      orgId,
      ...(from ? { OR: [{ at: { lt: from.at } }, { at: from.at, id: { lt: from.id } }] } : {}),
    },
    orderBy: [{ at: 'desc' }, { id: 'desc' }],
    take: limit + 1,
  });
  const events = rows.slice(0, limit).map(({ id, at, actor: who, action, target, details }) => ({
    id,
    at: at.toISOString(),
    actor: who,
    action,
    target,
    details: details as Record<string, unknown>,
  }));
  return ok({ events, next: rows.length > limit ? (events.at(-1)?.id ?? null) : null });
}
