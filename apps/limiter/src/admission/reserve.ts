import type { Month } from '../redis/clock.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import { type DecisionReply, decisionOf } from './decision.ts';
import type { AdmissionRef } from './ref.ts';
import type { WrongScope } from './scope.ts';

/** Runs reserve.lua. */
export async function reserve(
  { store, names, clock }: ScriptDeps,
  ref: AdmissionRef,
  keyId: string,
  month: Month,
): Promise<DecisionReply | WrongScope> {
  const { orgId, instanceId, admissionId } = ref;
  const reply = await store.run(
    SCRIPTS.reserve,
    [
      names.fenced(orgId),
      names.org(orgId),
      names.key(orgId, keyId),
      names.open(orgId, instanceId),
      names.month(orgId, month.name),
    ],
    [clock.offsetUs, instanceId, admissionId, keyId, month.name, month.startUs, month.endUs],
  );
  const [kind, realKeyId, realMonth] = reply;
  if (kind === 'wrong_scope') return { kind, scope: { keyId: String(realKeyId), month: String(realMonth) } };
  return decisionOf(reply);
}
