/**
 * The error catalogue: every code of the API with its status and type. Clients act on the code. The
 * message of a refusal says what was wrong this time.
 */
export const ERRORS = {
  invalid_json: { status: 400, type: 'invalid_request_error' },
  invalid_request: { status: 400, type: 'invalid_request_error' },
  unsupported_parameter: { status: 400, type: 'invalid_request_error' },
  model_text_only: { status: 400, type: 'invalid_request_error' },
  model_refused: { status: 400, type: 'invalid_request_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  plan_upgrade_required: { status: 403, type: 'permission_error' },
  model_not_found: { status: 404, type: 'invalid_request_error' },
  not_found: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'invalid_request_error' },
  request_too_large: { status: 413, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  quota_exceeded: { status: 429, type: 'insufficient_quota' },
  internal_error: { status: 500, type: 'api_error' },
  upstream_error: { status: 502, type: 'api_error' },
  model_starting: { status: 503, type: 'service_unavailable' },
  model_unavailable: { status: 503, type: 'service_unavailable' },
} as const satisfies Record<string, { readonly status: number; readonly type: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** The ends of counted requests that are neither answered nor refused with a catalogue code. */
export const OTHER_ENDS = [
  'client_closed',
  'stream_limit',
  'shutdown',
  'gateway_lost',
  'lease_lost',
  'org_deleted',
] as const;
export type OtherEnd = (typeof OTHER_ENDS)[number];

/** The form of all codes, including those of later versions. */
export const ERROR_CODE_FORM = /^[a-z0-9_]{1,64}$/;

/** The limit that refused. Operators see it in logs and metrics; callers see only the code. */
export const REFUSAL_CAUSES = {
  rate_limit_exceeded: [
    'key_requests_per_minute',
    'org_requests_per_minute',
    'key_requests_at_once',
    'org_requests_at_once',
    'large_bodies',
    'blocked_address',
    /** The gateway is at capacity. */
    'busy',
    /** The organization's limits are being restored after a loss. */
    'recovering',
    /** A newer limiter sent a cause that this gateway does not know. */
    'unknown',
  ],
  quota_exceeded: ['month_requests', 'month_tokens'],
} as const satisfies Partial<Record<ErrorCode, readonly string[]>>;

type LimitCode = keyof typeof REFUSAL_CAUSES;
export type RefusalCause = (typeof REFUSAL_CAUSES)[LimitCode][number];

/** Exists for the type checker only: a symbol would be lost on the way from another thread. */
declare const madeByNewRefusal: unique symbol;

/**
 * Why a request is not answered as asked. It is a value that only `newRefusal` makes, and it is
 * never thrown. Only refusals by a limit have a cause.
 */
export type Refusal = RefusalFields & {
  /** Tells a refusal from other values, even when it comes from another thread. */
  readonly kind: 'refused';
  readonly [madeByNewRefusal]: true;
};

type RefusalFields = RefusalText &
  (
    | { readonly code: Exclude<ErrorCode, LimitCode>; readonly cause?: undefined }
    | {
        [C in LimitCode]: { readonly code: C; readonly cause: (typeof REFUSAL_CAUSES)[C][number] };
      }[LimitCode]
  );

interface RefusalText {
  /** Tells the caller why. It contains no key value and no content. */
  readonly message: string;
  /** Whole seconds, for `Retry-After`. */
  readonly retryAfterS?: number;
  /**
   * Official clients ignore a Retry-After of more than a minute and would retry immediately.
   * `false` tells them not to.
   */
  readonly shouldRetry?: false;
}

export const newRefusal = (fields: RefusalFields): Refusal => ({ kind: 'refused', ...fields }) as Refusal;

export const isRefusal = (value: unknown): value is Refusal =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'refused';

/** What a check without a result returns if it does not refuse. */
export const PASSED = 'passed' as const;
export type Passed = typeof PASSED;

/** The body of every error answer. */
export interface ErrorBody {
  readonly error: { readonly message: string; readonly type: string; readonly code: ErrorCode };
}

export const errorBody = ({ message, code }: Pick<Refusal, 'message' | 'code'>): ErrorBody => ({
  error: { message, type: ERRORS[code].type, code },
});
