import { randomBytes } from 'node:crypto';

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Bytes from this value on are skipped, because they would favour the first characters. */
const UNBIASED = 256 - (256 % BASE62.length);
const POOL_BYTES = 4096;

let pool = Buffer.alloc(0);
let next = 0;

/** Random base62 from the operating system's random source: 5.95 bits a character. */
export function randomBase62(length: number): string {
  let out = '';
  while (out.length < length) {
    if (next === pool.length) {
      pool = randomBytes(POOL_BYTES);
      next = 0;
    }
    const byte = pool[next++] as number;
    if (byte < UNBIASED) out += BASE62[byte % BASE62.length];
  }
  return out;
}

/**
 * Every key value contains its organization's tag: the part of the organization's id after `org_`.
 */
export const ORG_TAG_LENGTH = 12;

export const newOrgId = (): string => `org_${randomBase62(ORG_TAG_LENGTH)}`;
/**
 * Stands for an organization and an admission that never exist. A gateway names them in calls that
 * it makes to the limiter only so that V8 optimizes the code they run. These calls are not counted.
 */
export const REHEARSAL = 'rehearsal';
export const newPlanId = (): string => `plan_${randomBase62(12)}`;
export const newKeyId = (): string => `key_${randomBase62(16)}`;
/** Stands for all keys that pages of the console create for themselves. */
export const PAGE_KEYS = 'key_page';
/** The id alone shows that a key was a page key: the key is deleted, but its requests stay. */
export const newPageKeyId = (): string => `${PAGE_KEYS}_${randomBase62(16)}`;
export const isPageKey = (keyId: string): boolean => keyId.startsWith(`${PAGE_KEYS}_`);
export const newModelId = (): string => `mdl_${randomBase62(16)}`;
export const newUserId = (): string => `usr_${randomBase62(16)}`;
export const newAuditId = (): string => `evt_${randomBase62(16)}`;
/** Names a gateway instance: one gateway process, from one lease to the next. */
export const newInstanceId = (): string => `gw_${randomBase62(16)}`;
/** Names a request. Its admission, its completion and its `x-request-id` share these characters. */
export const newRequestId = (): string => randomBase62(24);

export const orgTagOf = (orgId: string): string => orgId.slice('org_'.length);
export const orgIdOfTag = (tag: string): string => `org_${tag}`;
