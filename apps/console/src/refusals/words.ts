import { type ErrorCode, REFUSAL_CAUSES, type RefusalCause } from '@tidegate/contracts';
import type { RefusalsView } from '@tidegate/control';
import { adviceOf } from '../errors/advice.ts';
import { whole } from '../ui/numbers.ts';

/** A screen of the organization that helps. */
interface Helps {
  readonly screen: 'keys' | 'plan' | 'api';
  readonly name: string;
}

export interface RefusalWords {
  /** In legends and tables. */
  readonly title: string;
  /** What has happened. */
  readonly meaning: string;
  /** What to do about it. */
  readonly action: string;
  readonly helps: Helps | null;
}

const KEYS: Helps = { screen: 'keys', name: 'Keys' };
const PLAN: Helps = { screen: 'plan', name: 'Plan' };
const API: Helps = { screen: 'api', name: 'API' };

const say = (title: string, meaning: string, action: string, helps: Helps | null = null): RefusalWords => ({
  title,
  meaning,
  action,
  helps,
});

/** Limits as their owner knows them. Those of a key only where one key is shown. */
export interface Limits {
  readonly plan: RefusalsView['plan'];
  readonly key: { readonly requestsPerMinute: number; readonly requestsAtOnce: number } | null;
}

const newKey = (where: string): string =>
  `A key's limits never change. An owner can create one with a higher limit: "Create one like this" ${where}.`;

/** The limits that refuse, each with its number where there is one. */
function causes({ plan, key }: Limits): Readonly<Record<RefusalCause, RefusalWords>> {
  const higher = newKey(key ? 'above' : 'on its page');
  return {
    key_requests_per_minute: say(
      'Requests a minute of a key',
      key
        ? `This key may send ${whole(key.requestsPerMinute)} requests in any 60 seconds, and tried to send more.`
        : 'A key sent more requests in 60 seconds than it may.',
      `Spread the requests, or wait as Retry-After says. ${higher}`,
      key ? null : KEYS,
    ),
    key_requests_at_once: say(
      'Requests at once of a key',
      key
        ? `This key may have ${whole(key.requestsAtOnce)} requests in progress at once, and tried to send more.`
        : 'A key already had as many requests in progress as it may have.',
      `Send fewer at a time. ${higher}`,
      key ? null : KEYS,
    ),
    org_requests_per_minute: say(
      'Requests a minute of the plan',
      `All keys together may send ${whole(plan.requestsPerMinute)} requests in any 60 seconds, and tried to send more.`,
      'Spread the requests, or change to a larger plan. The table by key shows who sends most.',
      PLAN,
    ),
    org_requests_at_once: say(
      'Requests at once of the plan',
      `All keys together may have ${whole(plan.requestsAtOnce)} requests in progress at once, and tried to send more.`,
      'Send fewer at a time, or change to a larger plan.',
      PLAN,
    ),
    month_requests: say(
      'Requests of the month',
      `The plan's ${whole(plan.requestsPerMonth)} requests of this month are used up.`,
      'Change to a larger plan, or wait for the next month. Sending the request again before then cannot work.',
      PLAN,
    ),
    month_tokens: say(
      'Tokens of the month',
      `What is left of the plan's ${whole(plan.tokensPerMonth)} tokens for this month is less than one request reserves: the whole context of its model.`,
      'Change to a larger plan, or wait for the next month. A model with a shorter context reserves less.',
      PLAN,
    ),
    large_bodies: say(
      'Large bodies at once',
      'Two requests with bodies over 2 MiB were in progress already. An organization may have no more.',
      'Send large bodies one after the other. Images can be sent as links.',
    ),
    blocked_address: say(
      'Invalid keys from an address',
      'One address sent 20 requests with invalid keys within a minute, so everything from there was refused.',
      'Find the program that sends a wrong, revoked or expired key. The block ends after a minute.',
      KEYS,
    ),
    busy: say(
      'Service at capacity',
      'The gateway was at capacity.',
      'Retry after the time given in Retry-After. If it continues, the operator should add gateways.',
    ),
    recovering: say(
      'Limits restored after a loss',
      "The service had lost the organization's live counts, and admits nothing for a minute while it restores them.",
      'Retry after the time given in Retry-After. If it happens again, the operator should look at Redis.',
    ),
    unknown: say(
      'Another limit',
      'The refusal came from a limit that this gateway does not know yet.',
      'Retry after the time given in Retry-After. The operator should bring all services to one release.',
    ),
  };
}

/** Codes that refuse without a limit. Their meaning is that of the errors. */
const CODES: Readonly<Partial<Record<ErrorCode, readonly [title: string, helps: Helps | null]>>> = {
  invalid_json: ['Invalid JSON', null],
  invalid_request: ['Invalid field', null],
  unsupported_parameter: ['Unsupported field', null],
  model_text_only: ['Images to a text model', API],
  model_refused: ['Too long for the model', API],
  invalid_api_key: ['Key no longer valid', KEYS],
  plan_upgrade_required: ['Images not included in the plan', PLAN],
  model_not_found: ['Unknown model', API],
  request_timeout: ['Body too slow', null],
  request_too_large: ['Body too large', null],
  internal_error: ['Gateway failed', null],
  model_starting: ['Model still starting', API],
  model_unavailable: ['Model not available', API],
};

const isCause = (name: string): name is RefusalCause =>
  Object.values<readonly string[]>(REFUSAL_CAUSES).some((known) => known.includes(name));

/** The words for a cause, or for a code where no limit refused. The name may be of any version. */
export function wordsOf(name: string, limits: Limits): RefusalWords {
  if (isCause(name)) return causes(limits)[name];
  const [title, helps] = (Object.hasOwn(CODES, name) && CODES[name as ErrorCode]) || [name, null];
  return { title, helps, ...adviceOf(name) };
}
