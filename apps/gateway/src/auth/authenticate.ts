import {
  isRefusal,
  newRefusal,
  PASSED,
  type ParsedApiKey,
  type Passed,
  type Refusal,
} from '@tidegate/contracts';
import { retryAfterSeconds } from '@tidegate/limits';
import { clientAddress } from '@tidegate/runtime';
import type { Exchange } from '../http/exchange.ts';
import { INVALID_API_KEY } from '../refusals.ts';
import { presentedKey } from './authorization.ts';
import type { BlockedAddresses } from './blocked-addresses.ts';
import type { Principal, Principals } from './principals.ts';

export interface AuthDeps {
  readonly principals: Principals;
  readonly blocked: BlockedAddresses;
  readonly limiter: { reportInvalidKey(address: string): Promise<number | Refusal> };
  readonly trustedProxies: number;
}

export interface Caller {
  readonly principal: Principal;
  readonly key: ParsedApiKey;
  /** True if `principal` comes from the cache: the key may have been revoked since. */
  readonly cached: boolean;
}

/**
 * Refuses a request whose address sent too many invalid keys (docs/conformance.md,
 * "Authentication").
 */
export function refuseBlockedAddress(
  { blocked, trustedProxies }: AuthDeps,
  request: Parameters<typeof clientAddress>[0],
): Passed | Refusal {
  if (!blocked.any) return PASSED;
  const remainingMs = blocked.remainingMs(clientAddress(request, trustedProxies));
  return remainingMs > 0 ? tooManyInvalidKeys(remainingMs) : PASSED;
}

/**
 * Finds out who is calling. An invalid key counts against the request's address. A missing key does
 * not.
 */
export async function authenticate(deps: AuthDeps, { request, facts }: Exchange): Promise<Caller | Refusal> {
  const key = presentedKey(request);
  if (key === 'absent') return INVALID_API_KEY;
  if (key === 'malformed') return countInvalidKey(deps, request);
  const known = deps.principals.get(key);
  const cached = !(known instanceof Promise);
  const principal = cached ? known : await known;
  if (isRefusal(principal))
    return principal.code === 'invalid_api_key' ? countInvalidKey(deps, request) : principal;
  facts.orgId = principal.orgId;
  facts.keyId = principal.keyId;
  return { principal, key, cached };
}

/**
 * The refusal of a request that never reached the limiter. A revoked key must get a 401 from its
 * next request on, even if that request is invalid anyway. So if the principal came from the cache,
 * this checks the key with the limiter first.
 */
export async function refuseUnadmitted(
  deps: AuthDeps,
  exchange: Exchange,
  caller: Caller,
  refusal: Refusal,
): Promise<Refusal> {
  if (!caller.cached || isCertain(refusal)) return refusal;
  const principal = await deps.principals.check(caller.key);
  const isInvalid = isRefusal(principal) && principal.code === 'invalid_api_key';
  return isInvalid ? refuseStaleKey(deps, exchange, caller, principal) : refusal;
}

/**
 * True if the key need not be checked: the limiter has just decided, the gateway is overloaded or
 * failing, or the whole address is refused.
 */
const isCertain = ({ code, cause }: Refusal): boolean =>
  ['invalid_api_key', 'plan_upgrade_required', 'internal_error'].includes(code) ||
  cause === 'busy' ||
  cause === 'blocked_address';

/** The refusal of a request that has just asked for its admission. */
export function refuseAdmission(
  deps: AuthDeps,
  exchange: Exchange,
  caller: Caller,
  refusal: Refusal,
): Refusal | Promise<Refusal> {
  dropStale(deps, caller.principal, refusal);
  return refuseStaleKey(deps, exchange, caller, refusal);
}

/**
 * Drops cached principals that a refusal by the limiter proves stale: its answer is newer than the
 * cache. So `authenticate` refuses, and counts, the next request with an invalid key.
 */
export function dropStale({ principals }: AuthDeps, { keyId, orgId }: Principal, { code }: Refusal): void {
  if (code === 'invalid_api_key') principals.dropKey(keyId);
  if (code === 'plan_upgrade_required') principals.dropOrg(orgId);
}

/**
 * The refusal of a request that `authenticate` has let pass. An invalid key counts against the
 * address only if it may already have been invalid when the request arrived: if its principal came
 * from the cache, and the request has not waited for its body since. Otherwise a key that is
 * revoked while bodies are on their way or a model wakes would get its address blocked.
 */
export const refuseStaleKey = (
  deps: AuthDeps,
  { request, bodyAwaited }: Exchange,
  { cached }: Caller,
  refusal: Refusal,
): Refusal | Promise<Refusal> =>
  refusal.code === 'invalid_api_key' && cached && !bodyAwaited ? countInvalidKey(deps, request) : refusal;

async function countInvalidKey(deps: AuthDeps, request: Exchange['request']): Promise<Refusal> {
  const address = clientAddress(request, deps.trustedProxies);
  const blockedMs = await deps.limiter.reportInvalidKey(address);
  if (isRefusal(blockedMs)) return blockedMs;
  if (blockedMs === 0) return INVALID_API_KEY;
  deps.blocked.block(address, blockedMs);
  return tooManyInvalidKeys(blockedMs);
}

const tooManyInvalidKeys = (remainingMs: number): Refusal =>
  newRefusal({
    code: 'rate_limit_exceeded',
    cause: 'blocked_address',
    message: 'Too many requests with an invalid API key came from this address.',
    retryAfterS: retryAfterSeconds(remainingMs),
  });
