import type { Settlement } from '@tidegate/contracts';
import { charge, countedUsage, monthOf } from '@tidegate/limits';
import { formatOutboxEntry } from '../outbox/entry.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import { MONTH_KEEP_S } from '../seeding/seed.ts';
import { unexpected } from './decision.ts';
import type { AdmissionRef } from './ref.ts';
import type { RequestEnd } from './settle.ts';

/** An admission as its gateway remembers it. Times are by the limiter's clock. */
export interface LostAdmission extends AdmissionRef {
  readonly keyId: string;
  readonly modelId: string;
  readonly contextTokens: number;
  readonly streamed: boolean;
  readonly admittedAtMs: number;
  /** 0 if not reserved. */
  readonly reservedAtMs: number;
}

/** Null if not reserved. */
export const monthOfLost = ({ reservedAtMs }: LostAdmission): string | null =>
  reservedAtMs > 0 ? monthOf(reservedAtMs) : null;

export async function restore(
  { store, names, clock }: ScriptDeps,
  lost: LostAdmission,
): Promise<'restored' | 'present' | 'lease_lost' | 'need_org' | 'need_join'> {
  const { orgId, instanceId, admissionId } = lost;
  const month = monthOfLost(lost);
  const reply = await store.run(
    SCRIPTS.restore,
    [
      names.fenced(orgId),
      names.org(orgId),
      names.key(orgId, lost.keyId),
      names.open(orgId, instanceId),
      names.month(orgId, month ?? '-'),
    ],
    [
      clock.offsetUs,
      instanceId,
      admissionId,
      MONTH_KEEP_S,
      lost.keyId,
      lost.modelId,
      lost.contextTokens,
      lost.admittedAtMs * 1_000,
      lost.reservedAtMs * 1_000,
      month ?? '-',
      lost.streamed ? 1 : 0,
    ],
  );
  const [kind] = reply;
  if (kind === 'restored' || kind === 'present' || kind === 'lease_lost') return kind;
  if (kind === 'need_org' || kind === 'need_join') return kind;
  throw unexpected(reply);
}

/** The settlement to store for a lost admission that had been settled. */
function settlementOfLost(
  lost: LostAdmission,
  requestEnd: RequestEnd,
): Omit<Settlement, 'orgId' | 'outboxId'> {
  const { answered, usage, durationMs, firstChunkMs } = requestEnd;
  const { contextTokens } = lost;
  const end = {
    answered,
    usage: usage && { prompt: usage.promptTokens, completion: usage.completionTokens },
  };
  const counted = countedUsage(contextTokens, end);
  return {
    reservationId: lost.admissionId,
    keyId: lost.keyId,
    modelId: lost.modelId,
    reservedAtMs: lost.reservedAtMs,
    answered,
    errorCode: answered ? null : (requestEnd.errorCode ?? 'internal_error'),
    streamed: lost.streamed,
    reservedTokens: contextTokens,
    promptTokens: counted?.prompt ?? null,
    completionTokens: counted?.completion ?? null,
    chargedTokens: charge(contextTokens, end),
    durationMs,
    firstChunkMs,
  };
}

export type RestoreSettledReply =
  | { readonly kind: 'settled'; readonly settlement: Settlement }
  | { readonly kind: 'present' | 'too_late' | 'need_org' };

export async function restoreSettled(
  { store, names, clock }: ScriptDeps,
  lost: LostAdmission,
  requestEnd: RequestEnd,
): Promise<RestoreSettledReply> {
  const { orgId, instanceId, admissionId } = lost;
  const settlement = settlementOfLost(lost, requestEnd);
  const reply = await store.run(
    SCRIPTS.restoreSettled,
    [
      names.org(orgId),
      names.open(orgId, instanceId),
      names.month(orgId, monthOfLost(lost) ?? '-'),
      names.outbox(orgId),
    ],
    [
      clock.offsetUs,
      admissionId,
      settlement.chargedTokens,
      formatOutboxEntry(settlement),
      MONTH_KEEP_S,
      lost.reservedAtMs * 1_000,
    ],
  );
  const [kind, outboxId] = reply;
  if (kind === 'settled') return { kind, settlement: { ...settlement, orgId, outboxId: String(outboxId) } };
  if (kind === 'present' || kind === 'too_late' || kind === 'need_org') return { kind };
  throw unexpected(reply);
}
