import type { Context } from '../context.ts';
import { SCRIPTS } from '../scripts.ts';
import { type DecisionReply, decisionOf } from './decision.ts';

export interface Admission {
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
export async function admit({ store, names, clock }: Context, a: Admission): Promise<DecisionReply> {
  const month = clock.month();
  const reply = await store.run(
    SCRIPTS.admit,
    [
      names.org(a.orgId),
      names.key(a.orgId, a.keyId),
      names.keyWindow(a.orgId, a.keyId),
      names.orgWindow(a.orgId),
      names.open(a.orgId, a.instanceId),
      names.month(a.orgId, month.name),
    ],
    [
      clock.offsetUs,
      a.instanceId,
      a.admissionId,
      a.keyId,
      a.modelId,
      a.contextTokens,
      a.hasImages ? 1 : 0,
      a.streamed ? 1 : 0,
      a.reserve ? 1 : 0,
      month.name,
      month.startUs,
      month.endUs,
    ],
  );
  return decisionOf(reply);
}
