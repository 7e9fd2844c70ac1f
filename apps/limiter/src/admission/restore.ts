import { monthOf } from '@tidegate/limits';
import type { Context } from '../context.ts';
import { SCRIPTS } from '../scripts.ts';
import { MONTH_KEEP_S } from '../truth/seed.ts';
import { unexpected } from './decision.ts';
import type { Held } from './held.ts';

/** An admission as its gateway remembers it. Times are the limiter's. */
export interface LostAdmission extends Held {
  readonly keyId: string;
  readonly modelId: string;
  readonly contextTokens: number;
  readonly streamed: boolean;
  readonly admittedAtMs: number;
  /** 0: not reserved. */
  readonly reservedAtMs: number;
}

/** Null: not reserved. */
export const monthOfLost = ({ reservedAtMs }: LostAdmission): string | null =>
  reservedAtMs > 0 ? monthOf(reservedAtMs) : null;

/** Runs restore.lua. */
export async function restore(
  { store, names, clock }: Context,
  lost: LostAdmission,
): Promise<'restored' | 'present' | 'lease_lost' | 'need_org' | 'need_join'> {
  const { orgId, instanceId, admissionId, contextTokens } = lost;
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
      recordOf(lost, month),
      month === null ? '-' : contextTokens,
      MONTH_KEEP_S,
    ],
  );
  const [kind] = reply;
  if (kind === 'restored' || kind === 'present' || kind === 'lease_lost') return kind;
  if (kind === 'need_org' || kind === 'need_join') return kind;
  throw unexpected(reply);
}

/** As lib/record.lua writes it. */
const recordOf = (lost: LostAdmission, month: string | null): string =>
  [
    lost.keyId,
    lost.modelId,
    lost.contextTokens,
    lost.admittedAtMs * 1_000,
    lost.reservedAtMs * 1_000,
    month ?? '-',
    lost.streamed ? 1 : 0,
  ].join(' ');
