import { unexpected } from '../admission/decision.ts';
import { LimiterError } from '../limiter-error.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';

const DAY_S = 86_400;
/**
 * How long lost or silent leases and their fences are kept: far longer than a gateway can be held
 * up.
 */
export const FENCE_KEEP_S = DAY_S;

export type HeartbeatReply = 'alive' | 'lease_lost' | 'lease_unknown';

/**
 * Runs heartbeat.lua.
 *
 * @param registered whether an earlier heartbeat of the instance was answered
 */
export async function sendHeartbeat(
  { store, names, clock }: ScriptDeps,
  instanceId: string,
  registered: boolean,
): Promise<HeartbeatReply> {
  // Not awaited: the index may be on another master that is unavailable. An instance that holds
  // something is in the index already (joinOrg).
  store.command('zadd', names.instances, Math.floor(clock.nowMs()), instanceId).catch(() => {});
  const reply = await store.run(
    SCRIPTS.heartbeat,
    [names.lease(instanceId)],
    [clock.offsetUs, registered ? 1 : 0, FENCE_KEEP_S],
  );
  const [code] = reply;
  if (code === 'alive' || code === 'lease_lost' || code === 'lease_unknown') return code;
  throw unexpected(reply);
}

/**
 * Runs join_org.lua, then mark_joined.lua. Resolves to false if the lease is lost. Rejects if the
 * instance has not sent a heartbeat yet.
 */
export async function joinOrg(
  { store, names, clock }: ScriptDeps,
  instanceId: string,
  orgId: string,
): Promise<boolean> {
  // The indexes come first, so that everything in Redis can always be found again.
  await Promise.all([
    store.command('zadd', names.instances, 'NX', Math.floor(clock.nowMs()), instanceId),
    store.command('sadd', names.orgs, orgId),
  ]);
  const [code] = await store.run(
    SCRIPTS.joinOrg,
    [names.lease(instanceId), names.orgsOf(instanceId)],
    [orgId],
  );
  // Do not refuse: that would end an instance that is alive. Its next heartbeat registers it.
  if (code === 'unregistered') throw new LimiterError('state', 'an instance has no lease');
  if (code !== 'joined') return false;
  const [marked] = await store.run(
    SCRIPTS.markJoined,
    [
      names.fenced(orgId),
      names.org(orgId),
      names.open(orgId, instanceId),
      names.withdrawn(orgId, instanceId),
    ],
    [instanceId],
  );
  return marked === 'joined';
}

/** Runs fence_instance.lua: twice, if the instance is silent. */
export async function fenceInstance(
  { store, names, clock }: ScriptDeps,
  instanceId: string,
  leaseMs: number,
): Promise<'dead' | 'alive'> {
  const look = (seenSinceMs: string) =>
    store.run(
      SCRIPTS.fenceInstance,
      [names.lease(instanceId)],
      [clock.offsetUs, leaseMs, FENCE_KEEP_S, seenSinceMs],
    );
  const [first, sinceMs] = await look('');
  const [code] = first === 'silent' ? await look(String(sinceMs)) : [first];
  return code === 'dead' ? 'dead' : 'alive';
}

/**
 * Runs reap_org.lua. Resolves to what the instance still holds there, by field of its open records,
 * or to null if nothing is left.
 */
export async function reapOrg(
  { store, names, clock }: ScriptDeps,
  instanceId: string,
  orgId: string,
  maxRecords: number,
): Promise<{ readonly field: string; readonly record: string }[] | null> {
  const [code, ...flat] = await store.run(
    SCRIPTS.reapOrg,
    [
      names.fenced(orgId),
      names.open(orgId, instanceId),
      names.withdrawn(orgId, instanceId),
      names.org(orgId),
    ],
    [clock.offsetUs, instanceId, maxRecords, FENCE_KEEP_S],
  );
  if (code === 'done') return null;
  return Array.from({ length: flat.length / 2 }, (_, i) => ({
    field: String(flat[2 * i]),
    record: String(flat[2 * i + 1]),
  }));
}
