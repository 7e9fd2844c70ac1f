import type { BetterAuthOptions } from 'better-auth';

/** A step of a sign-in at which the identity provider failed. */
export interface ProviderFailure {
  readonly step: string;
  /** The HTTP status of its answer, if that is known. */
  readonly status?: number;
  /** Why there was no answer, such as `ECONNREFUSED`. */
  readonly code?: string;
}

/** How the messages of better-auth (1.7.25) begin or end, and the step that each means. */
const STEPS: readonly (readonly [said: RegExp, step: string])[] = [
  [/^Discovery fetch failed|: discovery left no usable|: invalid jwks_uri/, 'discovery'],
  [/^Failed to validate authorization code/, 'token'],
  [/: id_token failed verification/, 'ID token'],
  [/^OAuth issuer mismatch/, 'issuer'],
  [/^Unable to get user info|^Unable to derive provider account identity/, 'user info'],
];

/**
 * A logger for better-auth that passes on only which step failed. better-auth's own messages may
 * quote the provider's answer.
 */
export const providerFailures = (
  report: (failure: ProviderFailure) => void,
): NonNullable<BetterAuthOptions['logger']> => ({
  level: 'error',
  log(_level, message, error: unknown) {
    const step = STEPS.find(([said]) => said.test(message))?.[1];
    if (step !== undefined) report({ step, ...reasonOf(error) });
  },
});

/** @param error an unsuccessful answer, as an object, or what `fetch` rejected with */
function reasonOf(error: unknown): Omit<ProviderFailure, 'step'> {
  const { status, cause } = (error ?? {}) as { status?: unknown; cause?: { code?: unknown } };
  if (typeof status === 'number') return { status };
  return typeof cause?.code === 'string' ? { code: cause.code } : {};
}
