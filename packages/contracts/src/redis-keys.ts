import { orgTagOf } from './ids.ts';

/*
 * The names of the Redis keys that `ctl doctor` reads as well as the limiter. Each begins with the
 * installation's prefix.
 */

export const orgKeyPrefix = (prefix: string, orgId: string): string => `${prefix}{${orgTagOf(orgId)}}:`;
export const orgStateKey = (prefix: string, orgId: string): string => `${orgKeyPrefix(prefix, orgId)}org`;
export const outboxKey = (prefix: string, orgId: string): string => `${orgKeyPrefix(prefix, orgId)}outbox`;
/** @param month YYYY-MM */
export const monthKey = (prefix: string, orgId: string, month: string): string =>
  `${orgKeyPrefix(prefix, orgId)}month:${month}`;
export const instancesKey = (prefix: string): string => `${prefix}instances`;
export const leaseKey = (prefix: string, instanceId: string): string => `${prefix}{${instanceId}}:lease`;
