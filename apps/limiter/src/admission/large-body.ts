import { LIMITS } from '@tidegate/limits';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import { unexpected } from './decision.ts';
import type { AdmissionRef } from './ref.ts';

const PREFIX = 'large:';

export const largeBodyField = (admissionId: string): string => PREFIX + admissionId;

/**
 * The admission id in an open-records field that holds a large-body slot. Null for any other field.
 */
export const largeBodyOf = (field: string): string | null =>
  field.startsWith(PREFIX) ? field.slice(PREFIX.length) : null;

export type LargeBodyReply =
  | { readonly kind: 'taken' | 'full' | 'lease_lost' }
  /** The organization's state was lost. */
  | { readonly kind: 'recovering'; readonly waitUs: number };

export async function takeLargeBody(
  { store, names, clock }: ScriptDeps,
  { orgId, instanceId, admissionId }: AdmissionRef,
  restore: boolean,
): Promise<LargeBodyReply | { readonly kind: 'need_org' | 'need_join' }> {
  const reply = await store.run(
    SCRIPTS.takeLargeBody,
    [names.fenced(orgId), names.org(orgId), names.open(orgId, instanceId)],
    [
      clock.offsetUs,
      instanceId,
      largeBodyField(admissionId),
      LIMITS.largeBodiesAtOncePerOrg,
      restore ? 1 : 0,
    ],
  );
  const [kind, waitUs] = reply;
  if (kind === 'taken' || kind === 'full' || kind === 'lease_lost') return { kind };
  if (kind === 'need_org' || kind === 'need_join') return { kind };
  if (kind === 'recovering') return { kind, waitUs: Number(waitUs) };
  throw unexpected(reply);
}

export async function releaseLargeBody(
  { store, names, clock }: ScriptDeps,
  { orgId, instanceId, admissionId }: AdmissionRef,
): Promise<void> {
  await store.run(
    SCRIPTS.releaseLargeBody,
    [
      names.fenced(orgId),
      names.org(orgId),
      names.open(orgId, instanceId),
      names.withdrawn(orgId, instanceId),
    ],
    [clock.offsetUs, instanceId, largeBodyField(admissionId)],
  );
}
