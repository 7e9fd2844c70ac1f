import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import { unexpected } from './decision.ts';
import type { AdmissionRef } from './ref.ts';
import type { AdmissionScope, WrongScope } from './scope.ts';

export type WithdrawReply = { readonly kind: 'withdrawn' | 'unknown' } | WrongScope;

export async function withdraw(
  { store, names, clock }: ScriptDeps,
  ref: AdmissionRef,
  scope: AdmissionScope,
): Promise<WithdrawReply> {
  const { orgId, instanceId, admissionId } = ref;
  const reply = await store.run(
    SCRIPTS.withdraw,
    [
      names.fenced(orgId),
      names.org(orgId),
      names.key(orgId, scope.keyId),
      names.keyWindow(orgId, scope.keyId),
      names.orgWindow(orgId),
      names.open(orgId, instanceId),
      names.withdrawn(orgId, instanceId),
      names.month(orgId, scope.month),
    ],
    [clock.offsetUs, instanceId, admissionId, scope.keyId, scope.month],
  );
  const [kind, keyId, month] = reply;
  if (kind === 'withdrawn' || kind === 'unknown') return { kind };
  if (kind === 'wrong_scope') return { kind, scope: { keyId: String(keyId), month: String(month) } };
  throw unexpected(reply);
}
