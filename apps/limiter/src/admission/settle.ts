import type { Settlement } from '@tidegate/contracts';
import { parseOutboxEntry } from '../outbox/entry.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import { unexpected } from './decision.ts';
import type { AdmissionRef } from './ref.ts';
import type { AdmissionScope, WrongScope } from './scope.ts';

/** How a reserved request ended. */
export interface RequestEnd {
  readonly answered: boolean;
  /** Null if there is no valid usage. */
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
  /** Null if unknown. */
  readonly durationMs: number | null;
  /** Why the request counts as an error. Null if it was answered. */
  readonly errorCode: string | null;
  /** Null if no stream had begun, or if unknown. */
  readonly firstChunkMs: number | null;
}

export type SettleReply =
  | { readonly kind: 'settled'; readonly settlement: Settlement }
  | { readonly kind: 'unknown' | 'not_reserved' }
  | WrongScope;

/**
 * Runs settle.lua, for all reservations of an instance, an organization and a month that end
 * together.
 */
export async function settle(
  { store, names }: ScriptDeps,
  ref: AdmissionRef,
  scope: AdmissionScope,
  end: RequestEnd,
): Promise<SettleReply> {
  const { orgId, instanceId, admissionId } = ref;
  const { answered, usage, durationMs, errorCode, firstChunkMs } = end;
  const reply = await store.runShared(
    SCRIPTS.settle,
    `${orgId} ${instanceId} ${scope.month}`,
    () => ({
      keys: [
        names.org(orgId),
        names.open(orgId, instanceId),
        names.month(orgId, scope.month),
        names.outbox(orgId),
      ],
      args: [scope.month],
    }),
    {
      keys: [names.key(orgId, scope.keyId)],
      args: [
        admissionId,
        scope.keyId,
        answered ? 1 : 0,
        usage ? 1 : 0,
        usage?.promptTokens ?? 0,
        usage?.completionTokens ?? 0,
        durationMs ?? '-',
        answered ? '-' : (errorCode ?? 'internal_error'),
        firstChunkMs ?? '-',
      ],
    },
  );
  const [kind, first, second] = reply;
  if (kind === 'unknown' || kind === 'not_reserved') return { kind };
  if (kind === 'wrong_scope') return { kind, scope: { keyId: String(first), month: String(second) } };
  const settlement = kind === 'settled' ? parseOutboxEntry(orgId, String(first), String(second)) : null;
  if (!settlement) throw unexpected(reply);
  return { kind: 'settled', settlement };
}
