import type { Actor } from './access/access.ts';

/** gRPC's PERMISSION_DENIED and UNAUTHENTICATED. */
const NOT_ACCEPTED = new Set<unknown>([7, 16]);

/**
 * Says that a call failed, as part of a sentence. Only operators are told why, because only they
 * can fix it.
 */
export function unreached(service: 'limiter' | 'runner', error: unknown, { kind }: Actor): string {
  if (kind === 'user') return `the ${service} is not available right now`;
  const { code, details } = (error ?? {}) as { code?: unknown; details?: unknown };
  if (NOT_ACCEPTED.has(code)) return `the ${service} does not accept calls from this program (${details})`;
  return `the ${service} could not be reached`;
}
