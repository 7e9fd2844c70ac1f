import { ERRORS, type ErrorCode, type REFUSAL_CAUSES, type RefusalCause } from '@tidegate/contracts';

export interface Advice {
  /** What has happened. */
  readonly meaning: string;
  /** What to do about it. */
  readonly action: string;
}

/** How counted requests end that are neither answered nor refused with a code of the API. */
export type OtherEnd =
  | 'client_closed'
  | 'stream_limit'
  | 'shutdown'
  | 'gateway_lost'
  | 'lease_lost'
  | 'org_deleted';

const advise = (meaning: string, action: string): Advice => ({ meaning, action });

const FIX = 'Fix the request. Sending it again as it is cannot work.';

/** What each code means to an owner, and what helps. */
export const ADVICE: Readonly<Record<ErrorCode | OtherEnd, Advice>> = {
  invalid_json: advise('The body is not valid JSON.', FIX),
  invalid_request: advise('A field is missing or out of range. The message names it.', FIX),
  unsupported_parameter: advise(
    'The request has a field that the API does not take. The message names it.',
    'Leave the field out. Client libraries often add one by a setting.',
  ),
  model_text_only: advise('Images were sent to a text model.', 'Send text only, or call a vision model.'),
  model_refused: advise(
    "The model's server refused the request, mostly because it does not fit the context length.",
    'Shorten the conversation or lower max_tokens. If every request fails, check the model on the API screen.',
  ),
  invalid_api_key: advise(
    'The key is missing, wrong, revoked or expired.',
    'Look for the key on the Keys screen. Create a new one if it is revoked, expired or lost.',
  ),
  plan_upgrade_required: advise(
    'The request has images, and the plan does not include them.',
    'Change the plan, or send text only.',
  ),
  model_not_found: advise(
    'No published model has this name, or the key may not call it.',
    'Compare the name with the API screen, and the models of the key with the Keys screen.',
  ),
  not_found: advise('The path does not exist.', 'Check the base URL. It ends in /v1.'),
  method_not_allowed: advise('The path does not take this method.', 'POST completions, and GET models.'),
  request_timeout: advise(
    'The body did not arrive within 30 seconds.',
    'Check the network between the caller and the gateway, and send smaller bodies.',
  ),
  request_too_large: advise(
    'The body is over 2 MiB for a text model, or over 20 MiB.',
    'Send less at once. Images can be sent as links.',
  ),
  rate_limit_exceeded: advise(
    'A limit of the key, the plan or the service was reached for a moment.',
    'Retry after the seconds in Retry-After. If it goes on, see the causes below.',
  ),
  quota_exceeded: advise(
    "The plan's requests or tokens of this month are used up, or what is left is less than one reservation.",
    'Change to a larger plan, or wait for the next month. A model with a shorter context reserves less.',
  ),
  internal_error: advise(
    'The gateway could not handle the request.',
    'Retry. If it goes on, the operator finds the reason in the logs under the request id.',
  ),
  upstream_error: advise(
    'The model failed: no answer in time, an answer that is no answer, or a stream that broke off.',
    "Retry. If it goes on, look at the model's server: its log, its memory, its load.",
  ),
  model_starting: advise(
    'The model was still starting.',
    'Retry after Retry-After. If callers cannot wait, make the model always on.',
  ),
  model_unavailable: advise(
    'The model is stopped, could not be started, or cannot be reached.',
    'Start it on the API screen, which also says why it failed.',
  ),
  client_closed: advise(
    'The caller hung up before the answer was complete. The full reservation is charged.',
    "Raise the caller's timeout, or stream: the first words then come early.",
  ),
  stream_limit: advise(
    'The stream reached a limit: its longest duration, its pause or its size.',
    'Lower max_tokens, or split the task.',
  ),
  shutdown: advise(
    'The gateway was stopped before the answer was complete.',
    'Retry. The operator can give gateways longer to finish.',
  ),
  gateway_lost: advise(
    'The gateway died while it served the request.',
    'Retry. If it goes on, the operator should look at the memory and the log of the gateways.',
  ),
  lease_lost: advise(
    'The gateway had no contact with a limiter for so long that its requests were ended.',
    'Retry. If it goes on, the operator should look at the limiters and at Redis.',
  ),
  org_deleted: advise('The organization was deleted while the request ran.', 'Nothing is left to do.'),
};

/** What each limit that refuses means, and what helps. */
export const CAUSES: Readonly<Record<RefusalCause, Advice>> = {
  key_requests_per_minute: advise(
    'The key reached its requests per minute.',
    'Spread the requests, or create a key with a higher limit.',
  ),
  org_requests_per_minute: advise(
    "All keys together reached the plan's requests a minute.",
    'Spread the requests, or change to a larger plan.',
  ),
  key_requests_at_once: advise(
    'The key reached its requests at once. A stream counts until it ends.',
    'Send fewer at the same time, or create a key with a higher limit.',
  ),
  org_requests_at_once: advise(
    "All keys together reached the plan's requests at once.",
    'Send fewer at the same time, or change to a larger plan.',
  ),
  large_bodies: advise(
    'Two requests over 2 MiB were already in progress.',
    'Send large requests one after the other, or images as links.',
  ),
  blocked_address: advise(
    'The address had sent 20 requests with an invalid key within a minute.',
    'Find the program with the wrong key at this address.',
  ),
  busy: advise('The gateway was at capacity.', 'Retry. If it goes on, the operator should add gateways.'),
  recovering: advise(
    'The limits were being restored after a loss of live state.',
    'Retry. It is over within about a minute.',
  ),
  unknown: advise(
    'A limit refused that this version does not know.',
    'Retry. The operator should bring all services to one version.',
  ),
  month_requests: advise(
    "The plan's requests of this month are used up.",
    'Change to a larger plan, or wait for the next month.',
  ),
  month_tokens: advise(
    "The plan's tokens of this month are used up, or one reservation no longer fits.",
    'Change to a larger plan, or wait for the next month. A model with a shorter context reserves less.',
  ),
};

export type LimitCode = keyof typeof REFUSAL_CAUSES;

/** The advice for a code of any version. */
export const adviceOf = (code: string): Advice =>
  Object.hasOwn(ADVICE, code) ? ADVICE[code as keyof typeof ADVICE] : UNKNOWN;

/** The advice for a cause of any version. Null: there is none. */
export const causeAdviceOf = (cause: string): Advice | null =>
  Object.hasOwn(CAUSES, cause) ? CAUSES[cause as RefusalCause] : null;

const UNKNOWN = advise('This version of the console does not know the code.', 'Update the console.');

/** `upstream_error (502)`, or only the code where no status belongs to it. */
export const codeText = (code: string): string =>
  Object.hasOwn(ERRORS, code) ? `${code} (${ERRORS[code as ErrorCode].status})` : code;
