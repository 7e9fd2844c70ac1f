import { ERROR_CODE_FORM } from '@tidegate/contracts';
import type { Call__Output } from '@tidegate/rpc';
import { LimiterError } from '../limiter-error.ts';

const ID = /^[A-Za-z0-9_-]{1,64}$/;
const HASH_BYTES = 32;
const MAX_ADDRESS_CHARACTERS = 64;

/**
 * Ids become parts of Redis keys and records, so only these characters are allowed.
 *
 * @throws LimiterError
 */
export function checkIds(...ids: readonly string[]): void {
  for (const id of ids) if (!ID.test(id)) throw new LimiterError('bad_call', 'an id is malformed');
}

/** @throws LimiterError */
export function checkHash(hash: Uint8Array): void {
  if (hash.length !== HASH_BYTES) throw new LimiterError('bad_call', 'a hash has the wrong length');
}

/** @throws LimiterError */
export function checkErrorCode(code: string): void {
  if (!ERROR_CODE_FORM.test(code)) throw new LimiterError('bad_call', 'an error code is malformed');
}

/** @throws LimiterError */
export function checkAddress(address: string): void {
  if (address.length === 0 || address.length > MAX_ADDRESS_CHARACTERS)
    throw new LimiterError('bad_call', 'an address is malformed');
}

/** The `x-request-id` of the request that a call is about, if it is about one. For logs. */
export function requestIdOf(call: Call__Output): string | undefined {
  const about = call[call.call ?? 'heartbeat'];
  const id = about && 'admissionId' in about ? about.admissionId : '';
  return ID.test(id) ? `req_${id}` : undefined;
}
