import type { Refusal } from '@tidegate/contracts';

/** The gateway could not decide or could not go on; nothing is known to be wrong with the request. */
export const INTERNAL_ERROR: Refusal = {
  code: 'internal_error',
  message: 'The request could not be handled. Try again.',
};

export const MODEL_UNAVAILABLE: Refusal = {
  code: 'model_unavailable',
  message: 'The model is not available right now.',
  shouldRetry: false,
};

export const BUSY: Refusal = {
  code: 'rate_limit_exceeded',
  cause: 'busy',
  message: 'The API is at capacity.',
  retryAfterS: 1,
};

/** Told apart from the values that steps return when they do not refuse. */
export const isRefusal = (value: object): value is Refusal => 'code' in value && 'message' in value;
