import type { Context } from '../context.ts';
import type { Month } from '../redis/clock.ts';
import { SCRIPTS } from '../scripts.ts';
import { type DecisionReply, decisionOf } from './decision.ts';
import type { Elsewhere, Held } from './held.ts';

/** Runs reserve.lua. */
export async function reserve(
  { store, names, clock }: Context,
  held: Held,
  keyId: string,
  month: Month,
): Promise<DecisionReply | Elsewhere> {
  const { orgId, instanceId, admissionId } = held;
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
  const [kind, heldBy, heldIn] = reply;
  if (kind === 'elsewhere') return { kind, place: { keyId: String(heldBy), month: String(heldIn) } };
  return decisionOf(reply);
}
