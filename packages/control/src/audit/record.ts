import type { Actor } from '../access/access.ts';
import { type AuditEntry, auditInEach } from '../access/audit.ts';
import type { ControlDeps } from '../deps.ts';

/**
 * Records in the trail of the installation what an operator is about to do outside of Postgres.
 * Call it before the act, so that there is no act without its event.
 */
export const recordOperatorAct = (
  { db, now }: Pick<ControlDeps, 'db' | 'now'>,
  operator: Actor & { readonly kind: 'operator' },
  event: Omit<AuditEntry, 'orgId'>,
): Promise<void> => db.$transaction((tx) => auditInEach(tx, operator, now(), [], event));
