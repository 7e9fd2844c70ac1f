import type { SettlementRef } from '@tidegate/contracts';
import type { ScriptDeps } from '../script-deps.ts';

/** Drops outbox entries that metering has committed. Idempotent. */
export async function confirmSettlements(
  { store, names }: ScriptDeps,
  refs: readonly SettlementRef[],
): Promise<void> {
  const byOrg = new Map<string, string[]>();
  for (const { orgId, outboxId } of refs) {
    const ids = byOrg.get(orgId);
    if (ids) ids.push(outboxId);
    else byOrg.set(orgId, [outboxId]);
  }
  await Promise.all([...byOrg].map(([orgId, ids]) => store.command('xdel', names.outbox(orgId), ...ids)));
}
