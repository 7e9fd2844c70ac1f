import type { Context } from '../context.ts';
import { SCRIPTS } from '../scripts.ts';
import { unexpected } from './decision.ts';
import type { Elsewhere, Held, Place } from './held.ts';

export type WithdrawReply = { readonly kind: 'withdrawn' | 'unknown' } | Elsewhere;

/** Runs withdraw.lua. */
export async function withdraw(
  { store, names, clock }: Context,
  held: Held,
  place: Place,
): Promise<WithdrawReply> {
  const { orgId, instanceId, admissionId } = held;
  const reply = await store.run(
    SCRIPTS.withdraw,
    [
      names.fenced(orgId),
      names.org(orgId),
      names.key(orgId, place.keyId),
      names.keyWindow(orgId, place.keyId),
      names.orgWindow(orgId),
      names.open(orgId, instanceId),
      names.voids(orgId, instanceId),
      names.month(orgId, place.month),
    ],
    [clock.offsetUs, instanceId, admissionId, place.keyId, place.month],
  );
  const [kind, keyId, month] = reply;
  if (kind === 'withdrawn' || kind === 'unknown') return { kind };
  if (kind === 'elsewhere') return { kind, place: { keyId: String(keyId), month: String(month) } };
  throw unexpected(reply);
}
