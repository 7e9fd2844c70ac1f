import type { AuditEvent } from '@tidegate/db';
import { DAY_MS } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access, operatorOnly } from '../access/access.ts';
import { AUDIT_ACTIONS } from '../access/audit.ts';
import type { ControlDeps } from '../deps.ts';
import { isDay, orgField, reference, wholeBetween } from '../fields.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';

const MAX_PAGE = 200;
const DEFAULT_PAGE = 50;
const BEFORE_RULE = 'Before must be the value that an earlier page gave as next.';
const NOUNS = [...new Set(AUDIT_ACTIONS.map((action) => action.split('.', 1)[0] ?? ''))];
const ACTIONS: ReadonlySet<string> = new Set([...AUDIT_ACTIONS, ...NOUNS]);
const ACTION_RULE = `Action must be a noun (${NOUNS.join(', ')}), for all of its actions, or one of: ${AUDIT_ACTIONS.join(', ')}.`;

export interface AuditView {
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
  /**
   * A user's e-mail; `ctl` with the system user; or `unknown`, if an attempt to sign in failed or
   * someone who was only invited has deleted their account.
   */
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

const dayField = (label: string) => {
  const error = `${label} must be a day as YYYY-MM-DD.`;
  return z.string({ error }).refine(isDay, { error }).optional();
};
const filters = {
  /** The id of an event. Only older events are listed. */
  before: reference('Before').optional(),
  limit: wholeBetween('Limit', 1, MAX_PAGE).default(DEFAULT_PAGE),
  /** Only events of this actor, as the trail names it. Case does not matter. */
  actor: reference('Actor').optional(),
  /** Only this action, or all actions of a noun. */
  action: z
    .string({ error: ACTION_RULE })
    .refine((action) => ACTIONS.has(action), { error: ACTION_RULE })
    .optional(),
  /** The first and the last day (UTC). */
  from: dayField('From'),
  to: dayField('To'),
};
const installationInput = z.object(filters);
const auditInput = installationInput.extend({ org: orgField });
type Filters = z.output<typeof installationInput>;
export type ListInstallationAuditInput = z.input<typeof installationInput>;
export type ListAuditInput = z.input<typeof auditInput>;

/** Lists the organization's audit events that match, newest first, in pages. */
export async function listAudit(
  deps: ControlDeps,
  actor: Actor,
  input: ListAuditInput,
): Promise<Result<AuditPage>> {
  const parsed = parseInput(auditInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'audit.list');
  if (!org.ok) return org;
  return readPage(deps, org.value.id, parsed.value, org.value.may('audit.readAll'));
}

/**
 * Lists, in the same way, what operators did to things that belong to no organization or to
 * several: plans, pools, accounts, secrets, the queue, and organizations that they deleted. For
 * operators only.
 */
export async function listInstallationAudit(
  deps: ControlDeps,
  actor: Actor,
  input: ListInstallationAuditInput,
): Promise<Result<AuditPage>> {
  const allowed = operatorOnly(actor);
  if (!allowed.ok) return allowed;
  const parsed = parseInput(installationInput, input);
  return parsed.ok ? readPage(deps, null, parsed.value, true) : parsed;
}

/** Reads a page of the trail of an organization, or of the installation. */
async function readPage(
  { db }: ControlDeps,
  orgId: string | null,
  { before, limit, ...filter }: Filters,
  seesAll: boolean,
): Promise<Result<AuditPage>> {
  if (filter.from !== undefined && filter.to !== undefined && filter.from > filter.to)
    return refuse('invalid_input', 'From must not be after To.', 'from');
  const from = before === undefined ? null : await db.auditEvent.findFirst({ where: { id: before, orgId } });
  if (before !== undefined && !from) return refuse('invalid_input', BEFORE_RULE, 'before');
  const rows = await db.auditEvent.findMany({
    where: {
      orgId,
      AND: matching(filter),
      ...(from ? { OR: [{ at: { lt: from.at } }, { at: from.at, id: { lt: from.id } }] } : {}),
    },
    orderBy: [{ at: 'desc' }, { id: 'desc' }],
    take: limit + 1,
  });
  const events = rows.slice(0, limit).map((row) => view(row, seesAll));
  return ok({ events, next: rows.length > limit ? (events.at(-1)?.id ?? null) : null });
}

/** To ignore case, Prisma compares with ILIKE, which gives `%`, `_` and `\` a meaning. */
const literally = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

function matching({ actor, action, from, to }: Omit<Filters, 'before' | 'limit'>) {
  return [
    ...(actor === undefined ? [] : [{ actor: { equals: literally(actor), mode: 'insensitive' as const } }]),
    ...(action === undefined
      ? []
      : [{ action: action.includes('.') ? action : { startsWith: `${action}.` } }]),
    ...(from === undefined ? [] : [{ at: { gte: new Date(from) } }]),
    ...(to === undefined ? [] : [{ at: { lt: new Date(Date.parse(to) + DAY_MS) } }]),
  ];
}

/** Details that only owners see: whom they invited, and from where people sign in. */
const FOR_OWNERS: readonly (readonly [action: RegExp, detail: string])[] = [
  [/^member\.(invite|withdraw)$/, 'email'],
  [/^account\./, 'network'],
];

function view({ id, at, actor, action, target, details }: AuditEvent, seesAll: boolean): AuditView {
  const hidden = seesAll
    ? []
    : FOR_OWNERS.filter(([actions]) => actions.test(action)).map(([, name]) => name);
  const shown = Object.entries(details as Record<string, unknown>).filter(([name]) => !hidden.includes(name));
  return { id, at: at.toISOString(), actor, action, target, details: Object.fromEntries(shown) };
}
