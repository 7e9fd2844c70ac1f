import { newRefusal } from '@tidegate/contracts';

/* Refusals that several modules return. */

/** The gateway could not decide or could not continue. The request itself may be fine. */
export const INTERNAL_ERROR = newRefusal({
  code: 'internal_error',
  message: 'The request could not be handled. Try again.',
});

export const MODEL_UNAVAILABLE = newRefusal({
  code: 'model_unavailable',
  message: 'The model is not available right now.',
  shouldRetry: false,
});

export const BUSY = newRefusal({
  code: 'rate_limit_exceeded',
  cause: 'busy',
  message: 'The API is at capacity.',
  retryAfterS: 1,
});

/** The request is charged. So its client should not repeat it by itself. */
export const NO_ROOM_FOR_ANSWER = newRefusal({
  code: 'rate_limit_exceeded',
  cause: 'busy',
  message: "The API is at capacity: it has no memory left for the model's answer.",
  retryAfterS: 1,
  shouldRetry: false,
});

export const PLAN_UPGRADE_REQUIRED = newRefusal({
  code: 'plan_upgrade_required',
  message: "The organization's plan does not include images. Upgrade it, or send text only.",
});

export const INVALID_API_KEY = newRefusal({
  code: 'invalid_api_key',
  message: 'The API key is missing, wrong, revoked or expired. Send it as "Authorization: Bearer <API_KEY>".',
});
