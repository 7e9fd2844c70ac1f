import { ERRORS, type ErrorCode, type OtherEnd } from '@tidegate/contracts';

interface Advice {
  /** What has happened. */
  readonly meaning: string;
  /** What to do about it. */
  readonly action: string;
}

const advise = (meaning: string, action: string): Advice => ({ meaning, action });

const FIX = 'Fix the request. Sending it again unchanged cannot work.';

/** What each code means to an owner, and what helps. */
export const ADVICE: Readonly<Record<ErrorCode | OtherEnd, Advice>> = {
  invalid_json: advise('The body is not valid JSON.', FIX),
  invalid_request: advise('A field is missing or out of range. The message names it.', FIX),
  unsupported_parameter: advise(
    'The request has a field that the API does not accept. The message names it.',
    'Leave the field out. Client libraries often have a setting that adds it.',
  ),
  model_text_only: advise('Images were sent to a text model.', 'Send text only, or call a vision model.'),
  model_refused: advise(
    "The model's server refused the request, usually because it does not fit the context length.",
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
    "Check the name on the API screen, and the key's models on the Keys screen.",
  ),
  not_found: advise('The path does not exist.', 'Check the base URL. It ends in /v1.'),
  method_not_allowed: advise(
    'The path does not accept this method.',
    'Use POST for completions and GET for models.',
  ),
  request_timeout: advise(
    'The body did not arrive within 30 seconds.',
    'Check the network between the caller and the gateway, and send smaller bodies.',
  ),
  request_too_large: advise(
    'The body is over 2 MiB for a text model, or over 20 MiB.',
    'Send less at once. Images can be sent as links.',
  ),
  rate_limit_exceeded: advise(
    'A short-term limit of the key, the plan or the service was reached.',
    'Retry after the time given in Retry-After. If it continues, spread the requests, or raise the limits of the key or the plan.',
  ),
  quota_exceeded: advise(
    "The plan's requests or tokens of this month are used up, or what is left is less than one reservation.",
    'Change to a larger plan, or wait for the next month. A model with a shorter context reserves less.',
  ),
  internal_error: advise(
    'The gateway could not handle the request.',
    'Retry. If it continues, the operator can find the reason in the logs, under the request id.',
  ),
  upstream_error: advise(
    'The model failed: no answer in time, an answer that cannot be read, or a stream that broke off.',
    "Retry. If it continues, look at the model's server: its log, its memory, its load.",
  ),
  model_starting: advise(
    'The model was still starting.',
    'Retry after the time given in Retry-After. If callers cannot wait, make the model always on.',
  ),
  model_unavailable: advise(
    'The model is stopped, could not be started, or cannot be reached.',
    'Start it on the API screen, which also says why it failed.',
  ),
  client_closed: advise(
    'The caller hung up before the answer was complete. The full reservation is charged.',
    "Raise the caller's timeout, or stream, so that the first words come early.",
  ),
  stream_limit: advise(
    'The stream reached a limit on its duration, its pauses or its size, or the gateway had no memory left for it.',
    'Lower max_tokens, or split the task.',
  ),
  shutdown: advise(
    'The gateway was stopped before the answer was complete.',
    'Retry. The operator can give gateways longer to finish.',
  ),
  gateway_lost: advise(
    'The gateway died while it served the request.',
    'Retry. If it continues, the operator should look at the memory and the log of the gateways.',
  ),
  lease_lost: advise(
    'The gateway had no contact with a limiter for so long that its requests were ended.',
    'Retry. If it continues, the operator should look at the limiters and at Redis.',
  ),
  org_deleted: advise('The organization was deleted while the request ran.', 'There is nothing to do.'),
};

/** The advice for a code of any version. */
export const adviceOf = (code: string): Advice =>
  Object.hasOwn(ADVICE, code) ? ADVICE[code as keyof typeof ADVICE] : UNKNOWN;

const UNKNOWN = advise('This version of the console does not know the code.', 'Update the console.');

/** `upstream_error (502)`, or only the code where no status belongs to it. */
export const codeText = (code: string): string =>
  Object.hasOwn(ERRORS, code) ? `${code} (${ERRORS[code as ErrorCode].status})` : code;
