import type { Grants, LostGrant } from './grants.ts';
import type { InstanceLease } from './lease.ts';
import type { LimiterReply } from './session.ts';
import type { Unacknowledged } from './unacknowledged.ts';

export interface RestoreDeps {
  readonly grants: Grants;
  readonly lease: InstanceLease;
  readonly unacknowledged: Unacknowledged;
}

/** Sends the limiter again what it granted, for one organization or for all. */
export function restoreGrants(deps: RestoreDeps, orgId?: string): void {
  const { grants, unacknowledged } = deps;
  for (const lost of grants.toRestore(orgId))
    void unacknowledged.send(lost.instanceId, lost.restore, (reply) => onRestored(deps, lost, reply));
}

function onRestored(
  { lease, unacknowledged }: RestoreDeps,
  lost: LostGrant,
  { restore, takeLargeBody }: LimiterReply,
): void {
  const refused = restore?.leaseLost || takeLargeBody?.result === 'RESULT_LEASE_LOST';
  // By now its slots may belong to others.
  if (refused && lost.isHeld()) lease.abandon(lost.instanceId);
  const ended = lost.ended();
  if (ended) void unacknowledged.send(lost.instanceId, ended);
}
