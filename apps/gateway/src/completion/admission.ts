import type { Refusal } from '@tidegate/contracts';
import { LIMITS, retryAfterSeconds } from '@tidegate/limits';
import type { QuotaExceeded__Output, RateLimited__Output, WindowState__Output } from '@tidegate/rpc';
import type { AdmissionOutcome } from '../limiter/limiter.ts';
import { PLAN_UPGRADE_REQUIRED } from './fit.ts';
import { INTERNAL_ERROR } from './refusals.ts';

export type Admission = 'admitted' | 'invalid_key' | Refusal;

/** What an outcome of the limiter means for the request. Null: the limiter could not decide. */
export function readAdmission(outcome: AdmissionOutcome | null): Admission {
  switch (outcome?.outcome) {
    case 'admitted':
      return 'admitted';
    case 'keyInvalid':
      return 'invalid_key';
    case 'rateLimited':
      return rateLimited(outcome.rateLimited as RateLimited__Output);
    case 'quotaExceeded':
      return quotaExceeded(outcome.quotaExceeded as QuotaExceeded__Output);
    case 'planUpgradeRequired':
      return PLAN_UPGRADE_REQUIRED;
    default:
      return INTERNAL_ERROR;
  }
}

/** `x-ratelimit-*-requests` of an admitted request. */
export function rateLimitHeaders(outcome: AdmissionOutcome | null): string[] {
  const window = outcome?.admitted?.window;
  if (!window) return [];
  const { limit, remaining, resetMs }: WindowState__Output = window;
  return [
    'x-ratelimit-limit-requests',
    String(limit),
    'x-ratelimit-remaining-requests',
    String(remaining),
    'x-ratelimit-reset-requests',
    formatWait(resetMs),
  ];
}

/** `20ms`, `1s`, `59.25s`, `6m0s`. */
export function formatWait(waitMs: number): string {
  if (waitMs < 1_000) return `${waitMs}ms`;
  const minutes = Math.floor(waitMs / 60_000);
  const seconds = `${(waitMs - minutes * 60_000) / 1_000}s`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

function rateLimited({ cause, limit, retryAfterMs }: RateLimited__Output): Refusal {
  const retryAfterS = retryAfterSeconds(retryAfterMs);
  const perMinute = (whose: string) => ({
    message: `${whose} reached its limit of ${limit} requests a minute.`,
    retryAfterS,
  });
  const atOnce = (whose: string) => ({
    message: `${whose} reached its limit of ${limit} requests at once.`,
    retryAfterS: LIMITS.retryAfterSeconds.atOnce,
  });
  const code = 'rate_limit_exceeded';
  switch (cause) {
    case 'CAUSE_KEY_REQUESTS_PER_MINUTE':
      return { code, cause: 'key_requests_per_minute', ...perMinute('The API key') };
    case 'CAUSE_ORG_REQUESTS_PER_MINUTE':
      return { code, cause: 'org_requests_per_minute', ...perMinute('The organization') };
    case 'CAUSE_KEY_REQUESTS_AT_ONCE':
      return { code, cause: 'key_requests_at_once', ...atOnce('The API key') };
    case 'CAUSE_ORG_REQUESTS_AT_ONCE':
      return { code, cause: 'org_requests_at_once', ...atOnce('The organization') };
    case 'CAUSE_RECOVERING':
      return { code, cause: 'recovering', message: 'Limits are being restored.', retryAfterS };
    default:
      return { code, cause: 'unknown', message: 'A rate limit was reached.', retryAfterS };
  }
}

const quotaExceeded = ({ cause, retryAfterMs }: QuotaExceeded__Output): Refusal => ({
  code: 'quota_exceeded',
  cause: cause === 'CAUSE_REQUESTS' ? 'month_requests' : 'month_tokens',
  message:
    cause === 'CAUSE_REQUESTS'
      ? "The organization's plan has no requests left this month."
      : "What is left of the organization's tokens this month does not cover this model's context length.",
  retryAfterS: retryAfterSeconds(retryAfterMs),
  shouldRetry: false,
});
