import type { Month } from '../redis/clock.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import { type DecisionReply, decisionOf } from './decision.ts';
import type { AdmissionRef } from './ref.ts';
import type { WrongScope } from './scope.ts';

/**
 * Runs reserve.lua, for all admissions of an instance and an organization that reserve together, as
 * when a model wakes for many.
 */
export async function reserve(
  { store, names, clock }: ScriptDeps,
  ref: AdmissionRef,
  keyId: string,
  month: Month,
): Promise<DecisionReply | WrongScope> {
  const { orgId, instanceId, admissionId } = ref;
  const reply = await store.runShared(
    SCRIPTS.reserve,
    `${orgId} ${instanceId} ${month.name}`,
    () => ({
      keys: [
        names.fenced(orgId),
        names.org(orgId),
        names.open(orgId, instanceId),
        names.month(orgId, month.name),
      ],
      args: [clock.offsetUs, instanceId, month.name, month.startUs, month.endUs],
    }),
    { keys: [names.key(orgId, keyId)], args: [admissionId, keyId] },
  );
  const [kind, realKeyId, realMonth] = reply;
  if (kind === 'wrong_scope') return { kind, scope: { keyId: String(realKeyId), month: String(realMonth) } };
  return decisionOf(reply);
}
