import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import { type DecisionReply, decisionOf } from './decision.ts';

/** A request to admit. */
export interface AdmitCall {
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

/** Runs admit.lua. */
export async function admit({ store, names, clock }: ScriptDeps, call: AdmitCall): Promise<DecisionReply> {
  const month = clock.month();
  const reply = await store.run(
    SCRIPTS.admit,
    [
      names.org(call.orgId),
      names.key(call.orgId, call.keyId),
      names.keyWindow(call.orgId, call.keyId),
      names.orgWindow(call.orgId),
      names.open(call.orgId, call.instanceId),
      names.month(call.orgId, month.name),
    ],
    [
      clock.offsetUs,
      call.instanceId,
      call.admissionId,
      call.keyId,
      call.modelId,
      call.contextTokens,
      call.hasImages ? 1 : 0,
      call.streamed ? 1 : 0,
      call.reserve ? 1 : 0,
      month.name,
      month.startUs,
      month.endUs,
    ],
  );
  return decisionOf(reply);
}
