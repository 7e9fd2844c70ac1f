/** gRPC's PERMISSION_DENIED and UNAUTHENTICATED. */
const NOT_ACCEPTED = new Set<unknown>([7, 16]);

/** Says why a call failed, as part of a sentence. */
export function unreached(service: 'limiter' | 'runner', error: unknown): string {
  const { code, details } = (error ?? {}) as { code?: unknown; details?: unknown };
  if (NOT_ACCEPTED.has(code)) return `the ${service} does not accept calls of this program (${details})`;
  return `the ${service} could not be reached`;
}
