import type { Context } from '../context.ts';
import type { Month } from '../redis/clock.ts';
import { SCRIPTS } from '../scripts.ts';
import { type DecisionReply, decisionOf } from './decision.ts';
import type { Held } from './held.ts';

/** Runs reserve.lua. */
export async function reserve(
  { store, names, clock }: Context,
  held: Held,
  month: Month,
): Promise<DecisionReply> {
  const { orgId, instanceId, admissionId } = held;
  const reply = await store.run(
    SCRIPTS.reserve,
    [names.fenced(orgId), names.org(orgId), names.open(orgId, instanceId), names.month(orgId, month.name)],
    [clock.offsetUs, instanceId, admissionId, month.name, month.startUs, month.endUs],
  );
  return decisionOf(reply);
}
