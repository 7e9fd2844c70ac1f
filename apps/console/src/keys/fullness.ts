import type { KeyView } from '@tidegate/control';
import { whole } from '../ui/numbers.ts';
import type { KeyRules } from './rules.ts';

const NEAR_CEILING = 0.95;

export interface KeyCount {
  /** Keys that are not revoked. */
  readonly valid: number;
  /** All keys, including revoked ones. */
  readonly total: number;
  /** Name of the plan. */
  readonly plan: string;
}

/** Counts as creating a key does, which first deletes page keys that have expired. */
export function countKeys(
  keys: readonly Pick<KeyView, 'state' | 'expiresAt'>[],
  nowMs: number,
): Pick<KeyCount, 'valid' | 'total'> {
  const kept = keys.filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > nowMs);
  return { valid: kept.filter(({ state }) => state !== 'Revoked').length, total: kept.length };
}

/**
 * Warns about the limits on the number of keys before they are reached. `blocked`: no key can be
 * created.
 */
export function fullness(
  { valid, total, plan }: KeyCount,
  { mostKeys, perOrg }: Pick<KeyRules, 'mostKeys' | 'perOrg'>,
): { readonly blocked: boolean; readonly message: string | null } {
  if (total >= perOrg.total)
    return {
      blocked: true,
      message: `There are ${whole(total)} keys, revoked ones included, and no organization can have more: delete revoked ones to create another.`,
    };
  if (valid >= mostKeys) {
    const room = mostKeys === 1 ? '1 key that is' : `${mostKeys} keys that are`;
    const inUse = mostKeys === 1 ? 'it is in use: revoke it' : 'all are in use: revoke one';
    return {
      blocked: true,
      message: `The plan ${plan} has room for ${room} not revoked, and ${valid > mostKeys ? `${whole(valid)} are in use: revoke keys` : inUse}, or change the plan, to create another.`,
    };
  }
  if (total >= perOrg.total * NEAR_CEILING)
    return {
      blocked: false,
      message: `There are ${whole(total)} keys, revoked ones included; the ceiling is ${whole(perOrg.total)}. Delete revoked ones that are no longer needed.`,
    };
  if (valid === mostKeys - 1)
    return { blocked: false, message: `There is room for one more key on the plan ${plan}.` };
  return { blocked: false, message: null };
}
