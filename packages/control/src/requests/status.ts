import { ERRORS, type ErrorCode } from '@tidegate/contracts';

interface Outcome {
  readonly answered: boolean;
  readonly errorCode: string | null;
  readonly firstChunkMs: number | null;
}

/** Ends of requests for which a gateway answers 500 when no stream has begun. */
const BY_GATEWAY = ['lease_lost', 'org_deleted', 'shutdown'];

/**
 * The HTTP status that the caller was sent. A stream that broke off had begun with 200. Null: none
 * was sent, because the caller had hung up, or it is not known, because the gateway died.
 */
export function statusOf({ answered, errorCode, firstChunkMs }: Outcome): number | null {
  if (answered || firstChunkMs !== null || errorCode === 'stream_limit') return 200;
  if (errorCode === null) return null;
  if (Object.hasOwn(ERRORS, errorCode)) return ERRORS[errorCode as ErrorCode].status;
  return BY_GATEWAY.includes(errorCode) ? ERRORS.internal_error.status : null;
}
