import type { ParsedApiKey, Refusal } from '@tidegate/contracts';
import { retryAfterSeconds } from '@tidegate/limits';
import { clientAddress } from '@tidegate/runtime';
import { INTERNAL_ERROR } from '../completion/refusals.ts';
import type { Exchange } from '../http/exchange.ts';
import { presentedKey } from './authorization.ts';
import type { BlockedAddresses } from './blocked-addresses.ts';
import type { Principal, Principals } from './principals.ts';

export interface Doorkeeper {
  readonly principals: Principals;
  readonly blocked: BlockedAddresses;
  readonly limiter: { reportInvalidKey(address: string): Promise<number | null> };
  readonly trustedProxies: number;
}

export interface Caller {
  readonly principal: Principal;
  readonly key: ParsedApiKey;
}

/** Whether the request's address sent too many invalid keys (docs/conformance.md, "Authentication"). */
export function refuseBlockedAddress(
  { blocked, trustedProxies }: Doorkeeper,
  exchange: Exchange,
): Refusal | null {
  if (!blocked.any) return null;
  const remainingMs = blocked.remainingMs(clientAddress(exchange.request, trustedProxies));
  return remainingMs > 0 ? tooManyInvalidKeys(remainingMs) : null;
}

/** Who calls. An invalid or missing key is counted for the request's address. */
export async function authenticate(door: Doorkeeper, exchange: Exchange): Promise<Caller | Refusal> {
  const key = presentedKey(exchange.request);
  if (!key) return refuseInvalidKey(door, exchange);
  let principal = door.principals.get(key);
  if (principal instanceof Promise) principal = await principal;
  if (principal === null) return INTERNAL_ERROR;
  if (principal === 'invalid') return refuseInvalidKey(door, exchange);
  exchange.orgId = principal.orgId;
  exchange.keyId = principal.keyId;
  return { principal, key };
}

/** Also for a key that turns out to be invalid later, when it is to be admitted. */
export async function refuseInvalidKey(door: Doorkeeper, exchange: Exchange): Promise<Refusal> {
  const address = clientAddress(exchange.request, door.trustedProxies);
  const blockedMs = await door.limiter.reportInvalidKey(address);
  if (blockedMs === null) return INTERNAL_ERROR;
  if (blockedMs === 0) return INVALID_API_KEY;
  door.blocked.block(address, blockedMs);
  return tooManyInvalidKeys(blockedMs);
}

const INVALID_API_KEY: Refusal = {
  code: 'invalid_api_key',
  message: 'The API key is missing, wrong, revoked or expired. Send it as "Authorization: Bearer <API_KEY>".',
};

const tooManyInvalidKeys = (remainingMs: number): Refusal => ({
  code: 'rate_limit_exceeded',
  cause: 'blocked_address',
  message: 'Too many requests with an invalid API key came from this address.',
  retryAfterS: retryAfterSeconds(remainingMs),
});
