import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import { type DecisionReply, decisionOf } from './decision.ts';

export async function countRequest(
  { store, names, clock }: ScriptDeps,
  orgId: string,
  keyId: string,
): Promise<DecisionReply> {
  const reply = await store.run(
    SCRIPTS.countRequest,
    [names.org(orgId), names.key(orgId, keyId), names.keyWindow(orgId, keyId), names.orgWindow(orgId)],
    [clock.offsetUs],
  );
  return decisionOf(reply);
}
