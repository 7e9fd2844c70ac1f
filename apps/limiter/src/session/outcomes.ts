import { monthEndMs, monthOf } from '@tidegate/limits';
import type { AdmissionOutcome, AuthenticateOutcome } from '@tidegate/rpc';
import type { Decision, RateCause } from '../admission/decision.ts';
import type { AuthenticatedKey } from '../keys/authenticate.ts';

const RATE_CAUSES = {
  recovering: 'CAUSE_RECOVERING',
  key_requests_per_minute: 'CAUSE_KEY_REQUESTS_PER_MINUTE',
  org_requests_per_minute: 'CAUSE_ORG_REQUESTS_PER_MINUTE',
  key_requests_at_once: 'CAUSE_KEY_REQUESTS_AT_ONCE',
  org_requests_at_once: 'CAUSE_ORG_REQUESTS_AT_ONCE',
} as const satisfies Record<RateCause, string>;

const QUOTA_CAUSES = { requests: 'CAUSE_REQUESTS', tokens: 'CAUSE_TOKENS' } as const;

/** Rounds a wait up, so that nobody returns too early. */
export const msOf = (us: number): number => Math.ceil(us / 1_000);

export function admissionOutcome(decision: Decision): AdmissionOutcome {
  switch (decision.kind) {
    case 'admitted': {
      const { nowUs, window } = decision;
      return {
        admitted: {
          decidedAtMs: Math.floor(nowUs / 1_000),
          window: window
            ? { limit: window.limit, remaining: window.remaining, resetMs: msOf(window.resetUs) }
            : null,
        },
      };
    }
    case 'rate_limited':
      return {
        rateLimited: {
          cause: RATE_CAUSES[decision.cause],
          retryAfterMs: msOf(decision.waitUs),
          limit: decision.limit,
        },
      };
    case 'quota_exceeded': {
      const nowMs = Math.floor(decision.nowUs / 1_000);
      return {
        quotaExceeded: {
          cause: QUOTA_CAUSES[decision.cause],
          retryAfterMs: monthEndMs(monthOf(nowMs)) - nowMs,
        },
      };
    }
    case 'key_invalid':
      return { keyInvalid: {} };
    case 'plan_upgrade_required':
      return { planUpgradeRequired: {} };
    case 'lease_lost':
      return { leaseLost: {} };
  }
}

export const authenticateOutcome = (principal: AuthenticatedKey | null): AuthenticateOutcome =>
  principal
    ? {
        principal: {
          orgId: principal.orgId,
          keyId: principal.keyId,
          allModels: principal.modelIds === null,
          modelIds: [...(principal.modelIds ?? [])],
          expiresAtMs: principal.expiresAtMs,
          imagesAllowed: principal.imagesAllowed,
        },
      }
    : { keyInvalid: {} };
