import type { Month } from '../redis/clock.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import { type DecisionReply, decisionOf } from './decision.ts';

/** A request to admit. */
export interface AdmitInput {
  readonly orgId: string;
  readonly keyId: string;
  readonly instanceId: string;
  readonly admissionId: string;
  readonly modelId: string;
  readonly contextTokens: number;
  readonly hasImages: boolean;
  readonly streamed: boolean;
  /** Whether to reserve in the same step. */
  readonly reserve: boolean;
}

/** Runs admit.lua, for all requests of an instance and an organization that come together. */
export async function admit(
  { store, names, clock }: ScriptDeps,
  call: AdmitInput,
  month: Month,
): Promise<DecisionReply> {
  const { orgId, keyId, instanceId } = call;
  const reply = await store.runShared(
    SCRIPTS.admit,
    `${orgId} ${instanceId} ${month.name}`,
    () => ({
      keys: [
        names.org(orgId),
        names.orgWindow(orgId),
        names.open(orgId, instanceId),
        names.month(orgId, month.name),
      ],
      args: [clock.offsetUs, instanceId, month.name, month.startUs, month.endUs],
    }),
    {
      keys: [names.key(orgId, keyId), names.keyWindow(orgId, keyId)],
      args: [
        call.admissionId,
        keyId,
        call.modelId,
        call.contextTokens,
        call.hasImages ? 1 : 0,
        call.streamed ? 1 : 0,
        call.reserve ? 1 : 0,
      ],
    },
  );
  return decisionOf(reply);
}
