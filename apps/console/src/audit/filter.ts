import type { ControlRefusal } from '@tidegate/control';
import { givenTexts, type Query, readTexts, writeQuery } from '../ui/query.ts';

/** Which events to show, as the query says. An empty field: all. */
export interface AuditFilter {
  readonly actor: string;
  /** A noun, or a noun and a verb. */
  readonly action: string;
  /** Days (UTC) as YYYY-MM-DD, both included. */
  readonly from: string;
  readonly to: string;
}

const FIELDS = ['actor', 'action', 'from', 'to'] as const;

/** Reads the query that `auditQueryOf` writes. */
export const auditFilterOf = (query: Query): AuditFilter => readTexts(FIELDS, query);

/** The fields that are set: the input of `listAudit`. */
export const auditInputOf = (filter: AuditFilter): Partial<AuditFilter> => givenTexts(filter);

/** Where a page begins. Empty: with the newest event. */
export const cursorOf = (query: Query): { readonly before?: string } =>
  givenTexts(readTexts(['before'], query));

/** `?actor=…&before=…`, or an empty string. */
export const auditQueryOf = (filter: AuditFilter, more: Readonly<Record<string, string>> = {}): string =>
  writeQuery({ ...filter, ...more });

/** Why nothing can be found. The domain lists every action there is, for whoever types one. */
export const whyNoEvents = ({ field, message }: ControlRefusal): string =>
  field === 'action' ? 'No event can have this action.' : message;
