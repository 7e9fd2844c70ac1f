import type { GetMonthResponse } from '@tidegate/rpc';
import type { Context } from '../context.ts';
import { SCRIPTS } from '../scripts.ts';
import type { Truth } from '../truth/truth.ts';
import { Undecided } from '../undecided.ts';
import { unexpected } from './decision.ts';

const MAX_ATTEMPTS = 3;

/** Runs get_month.lua, seeding the month first when it is not there. Rejects with Undecided. */
export async function readMonthLedger(
  { store, names, clock }: Context,
  truth: Truth,
  orgId: string,
): Promise<Required<GetMonthResponse>> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const month = clock.month();
    const reply = await store.run(
      SCRIPTS.getMonth,
      [names.org(orgId), names.month(orgId, month.name)],
      [clock.offsetUs, month.startUs, month.endUs],
    );
    const [kind, a, b, c, d] = reply;
    if (kind === 'month')
      return {
        month: month.name,
        requests: Number(a),
        chargedTokens: Number(b),
        reservedTokens: Number(c),
        resetsAtMs: month.endUs / 1_000,
        inFlight: Number(d),
      };
    if (kind === 'need_month') await truth.seedMonth(orgId, month.name);
    else if (kind === 'month_turned') clock.observe(Number(a));
    else throw unexpected(reply);
  }
  throw new Undecided('state', 'what was seeded is missing again');
}
