import type { GetMonthResponse } from '@tidegate/rpc';
import type { Context } from '../context.ts';
import { LimiterError } from '../limiter-error.ts';
import type { Month } from '../redis/clock.ts';
import { SCRIPTS } from '../scripts.ts';
import type { MonthRow } from '../seeding/rows.ts';
import type { Seeder } from '../seeding/seeder.ts';
import { unexpected } from './decision.ts';

const MAX_ATTEMPTS = 3;

/**
 * Runs get_month.lua, after seeding the month if it is missing. While the month recovers, returns
 * the totals from Postgres. Rejects with LimiterError.
 */
export async function readMonthLedger(
  { store, names, clock }: Context,
  seeder: Seeder,
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
    if (kind === 'recovering')
      return recoveringMonth(await seeder.monthTotals(orgId, month.name), month, Number(a));
    if (kind === 'need_org') await seeder.seedOrg(orgId);
    else if (kind === 'need_month') await seeder.seedMonth(orgId, month.name);
    else if (kind === 'month_turned') clock.observe(Number(a));
    else throw unexpected(reply);
  }
  throw new LimiterError('state', 'state is missing again after it was seeded');
}

/** What is certain about a month whose ledger has not been restored yet. */
const recoveringMonth = (
  { requests, chargedTokens }: MonthRow,
  month: Month,
  inFlight: number,
): Required<GetMonthResponse> => ({
  month: month.name,
  requests,
  chargedTokens,
  reservedTokens: 0,
  resetsAtMs: month.endUs / 1_000,
  inFlight,
});
