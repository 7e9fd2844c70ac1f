import type { GetMonthResponse } from '@tidegate/rpc';
import { LimiterError } from '../limiter-error.ts';
import type { Month } from '../redis/clock.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import type { Seeder } from '../seeding/seeder.ts';
import { untilSeeded } from '../seeding/until-seeded.ts';
import { unexpected } from './decision.ts';

type LedgerReply =
  | { readonly kind: 'month'; readonly ledger: Required<GetMonthResponse> }
  | { readonly kind: 'recovering'; readonly month: Month; readonly inFlight: number }
  | { readonly kind: 'need_org' | 'need_month' }
  | { readonly kind: 'month_turned'; readonly nowUs: number };

async function getMonth({ store, names, clock }: ScriptDeps, orgId: string): Promise<LedgerReply> {
  const month = clock.month();
  const reply = await store.run(
    SCRIPTS.getMonth,
    [names.org(orgId), names.month(orgId, month.name)],
    [clock.offsetUs, month.startUs, month.endUs],
  );
  const [kind, a, b, c, d] = reply;
  if (kind === 'need_org' || kind === 'need_month') return { kind };
  if (kind === 'month_turned') return { kind, nowUs: Number(a) };
  if (kind === 'recovering') return { kind, month, inFlight: Number(a) };
  if (kind !== 'month') throw unexpected(reply);
  return {
    kind,
    ledger: {
      month: month.name,
      requests: Number(a),
      chargedTokens: Number(b),
      reservedTokens: Number(c),
      resetsAtMs: month.endUs / 1_000,
      inFlight: Number(d),
    },
  };
}

/**
 * Reads the live ledger of the month, after seeding it if it is missing. While the month recovers,
 * returns the totals from Postgres. Rejects with LimiterError.
 */
export async function readMonthLedger(
  scriptDeps: ScriptDeps,
  seeder: Seeder,
  orgId: string,
): Promise<Required<GetMonthResponse>> {
  const { clock } = scriptDeps;
  const reply = await untilSeeded({ seeder, clock }, { orgId }, () => getMonth(scriptDeps, orgId));
  if (reply.kind === 'month') return reply.ledger;
  if (reply.kind === 'no_org') throw new LimiterError('state', 'no such organization');
  const { month, inFlight } = reply;
  const { requests, chargedTokens } = await seeder.monthTotals(orgId, month.name);
  const resetsAtMs = month.endUs / 1_000;
  return { month: month.name, requests, chargedTokens, reservedTokens: 0, resetsAtMs, inFlight };
}
