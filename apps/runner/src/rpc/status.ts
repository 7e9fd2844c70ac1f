import { type ServiceError, status } from '@grpc/grpc-js';
import type { Logger } from '@tidegate/runtime';

/** Ends a call with a status and a text that its caller may read. */
export class Status extends Error {
  readonly code: status;
  constructor(code: status, message: string) {
    super(message);
    this.code = code;
  }
}

export const UNKNOWN_MODEL = () => new Status(status.NOT_FOUND, 'no such model');

/** Logs every error that is not a `Status`. */
export function toStatus(err: unknown, logger: Logger): Partial<ServiceError> {
  if (err instanceof Status) return { code: err.code, details: err.message };
  logger.error({ err }, 'a call failed');
  return { code: status.UNAVAILABLE, details: 'the runner cannot do that right now' };
}
