import { newRefusal, type Refusal } from '@tidegate/contracts';
import { LIMITS, retryAfterSeconds } from '@tidegate/limits';
import type {
  AdmissionOutcome__Output,
  Admitted__Output,
  QuotaExceeded__Output,
  RateLimited__Output,
} from '@tidegate/rpc';
import { INTERNAL_ERROR, INVALID_API_KEY, PLAN_UPGRADE_REQUIRED } from '../refusals.ts';

export type Admission = Admitted__Output;

/**
 * What the limiter's outcome means for the request. A null outcome means that the limiter could not
 * decide.
 */
export function readAdmission(outcome: AdmissionOutcome__Output | null): Admission | Refusal {
  if (outcome?.admitted) return outcome.admitted;
  if (outcome?.rateLimited) return rateLimited(outcome.rateLimited);
  if (outcome?.quotaExceeded) return quotaExceeded(outcome.quotaExceeded);
  if (outcome?.keyInvalid) return INVALID_API_KEY;
  if (outcome?.planUpgradeRequired) return PLAN_UPGRADE_REQUIRED;
  return INTERNAL_ERROR;
}

/** The `x-ratelimit-*-requests` headers of an admitted request. */
export function rateLimitHeaders({ window }: Admission): string[] {
  if (!window) return [];
  const { limit, remaining, resetMs } = window;
  return [
    'x-ratelimit-limit-requests',
    String(limit),
    'x-ratelimit-remaining-requests',
    String(remaining),
    'x-ratelimit-reset-requests',
    formatWait(resetMs),
  ];
}

/** Formats a wait: `20ms`, `1s`, `59.25s`, `6m0s`. */
export function formatWait(waitMs: number): string {
  if (waitMs < 1_000) return `${waitMs}ms`;
  const minutes = Math.floor(waitMs / 60_000);
  const seconds = `${(waitMs - minutes * 60_000) / 1_000}s`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

const requests = (count: number): string => `${count} ${count === 1 ? 'request' : 'requests'}`;

function rateLimited({ cause, limit, retryAfterMs }: RateLimited__Output): Refusal {
  const retryAfterS = retryAfterSeconds(retryAfterMs);
  const perMinute = (whose: string) => ({
    message: `${whose} reached its limit of ${requests(limit)} a minute.`,
    retryAfterS,
  });
  const atOnce = (whose: string) => ({
    message: `${whose} reached its limit of ${requests(limit)} at once.`,
    retryAfterS: LIMITS.retryAfterSeconds.atOnce,
  });
  const code = 'rate_limit_exceeded';
  switch (cause) {
    case 'CAUSE_KEY_REQUESTS_PER_MINUTE':
      return newRefusal({ code, cause: 'key_requests_per_minute', ...perMinute('The API key') });
    case 'CAUSE_ORG_REQUESTS_PER_MINUTE':
      return newRefusal({ code, cause: 'org_requests_per_minute', ...perMinute('The organization') });
    case 'CAUSE_KEY_REQUESTS_AT_ONCE':
      return newRefusal({ code, cause: 'key_requests_at_once', ...atOnce('The API key') });
    case 'CAUSE_ORG_REQUESTS_AT_ONCE':
      return newRefusal({ code, cause: 'org_requests_at_once', ...atOnce('The organization') });
    case 'CAUSE_RECOVERING':
      return recovering(retryAfterMs);
    default:
      return newRefusal({ code, cause: 'unknown', message: 'A rate limit was reached.', retryAfterS });
  }
}

/** The live state of the organization's limits was lost. */
export const recovering = (retryAfterMs: number): Refusal =>
  newRefusal({
    code: 'rate_limit_exceeded',
    cause: 'recovering',
    message: 'Limits are being restored.',
    retryAfterS: retryAfterSeconds(retryAfterMs),
  });

const quotaExceeded = ({ cause, retryAfterMs }: QuotaExceeded__Output): Refusal =>
  newRefusal({
    code: 'quota_exceeded',
    cause: cause === 'CAUSE_REQUESTS' ? 'month_requests' : 'month_tokens',
    message:
      cause === 'CAUSE_REQUESTS'
        ? "The organization's plan has no requests left this month."
        : "The organization's remaining tokens this month are fewer than this model's context length.",
    retryAfterS: retryAfterSeconds(retryAfterMs),
    shouldRetry: false,
  });

export const TOO_MANY_LARGE_BODIES = newRefusal({
  code: 'rate_limit_exceeded',
  cause: 'large_bodies',
  message: `The organization has ${LIMITS.largeBodiesAtOncePerOrg} requests over 2 MiB in progress, which is the limit.`,
  retryAfterS: LIMITS.retryAfterSeconds.largeBodies,
});
