import { LimiterError } from '../limiter-error.ts';
import type { ScriptReply } from '../redis/script-call.ts';

/** What must be read from Postgres before the script can decide. */
export type Missing = 'need_key' | 'need_org' | 'need_month';

export type RateCause =
  | 'recovering'
  | 'key_requests_per_minute'
  | 'org_requests_per_minute'
  | 'key_requests_at_once'
  | 'org_requests_at_once';

export interface WindowState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetUs: number;
}

/** The answer to an admission, a reservation or a counted request. */
export type Decision =
  | { readonly kind: 'admitted'; readonly nowUs: number; readonly window: WindowState | null }
  | {
      readonly kind: 'rate_limited';
      readonly cause: RateCause;
      readonly waitUs: number;
      readonly limit: number;
    }
  | { readonly kind: 'quota_exceeded'; readonly cause: 'requests' | 'tokens'; readonly nowUs: number }
  | { readonly kind: 'key_invalid' | 'plan_upgrade_required' | 'lease_lost' };

export type DecisionReply =
  | Decision
  | { readonly kind: Missing | 'need_join' }
  | { readonly kind: 'month_turned'; readonly nowUs: number };

/** Parses the replies of admit.lua, reserve.lua and count_request.lua. */
export function decisionOf(reply: ScriptReply): DecisionReply {
  const [kind, a, b, c, d] = reply;
  switch (kind) {
    case 'admitted':
      return {
        kind,
        nowUs: Number(a),
        window: { limit: Number(b), remaining: Number(c), resetUs: Number(d) },
      };
    case 'reserved':
      return { kind: 'admitted', nowUs: Number(a), window: null };
    case 'rate_limited':
      return { kind, cause: a as RateCause, waitUs: Number(b), limit: Number(c) };
    case 'quota_exceeded':
      return { kind, cause: a as 'requests' | 'tokens', nowUs: Number(b) };
    case 'month_turned':
      return { kind, nowUs: Number(a) };
    case 'key_invalid':
    case 'plan_upgrade_required':
    case 'lease_lost':
    case 'need_key':
    case 'need_org':
    case 'need_month':
    case 'need_join':
      return { kind };
    default:
      throw unexpected(reply);
  }
}

export const unexpected = (reply: ScriptReply): LimiterError =>
  new LimiterError('redis', `a script replied ${String(reply[0])}`);
