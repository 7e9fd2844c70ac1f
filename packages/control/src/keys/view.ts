import { isPageKey, PAGE_KEYS } from '@tidegate/contracts';
import { dayOf, expiryInstantMs, LIMITS } from '@tidegate/limits';
import { numberText } from '../numbers.ts';

export type KeyState = 'Active' | 'Expired' | 'Revoked';

/** What a key may call: all models, later ones too, or those chosen at its creation. */
export interface MayCall {
  readonly all: boolean;
  /** Names of the chosen models that still exist. */
  readonly models: readonly string[];
  /** How many of the chosen models have been deleted since. */
  readonly deleted: number;
}

/** What usage and requests call a key that is deleted. */
const DELETED_KEY = 'A deleted key';
/** What page keys are called, deleted or not. */
export const PAGE_KEY = 'Try it';

/** What to call a key. @param name null: the key is deleted */
export const keyNameOf = (keyId: string, name: string | null | undefined): string =>
  name ?? (keyId === PAGE_KEYS || isPageKey(keyId) ? PAGE_KEY : DELETED_KEY);

export interface KeyView {
  readonly id: string;
  readonly name: string;
  /** The value's first characters. */
  readonly prefix: string;
  readonly state: KeyState;
  readonly mayCall: MayCall;
  readonly requestsPerMinute: number;
  readonly requestsAtOnce: number;
  /** ISO 8601; null: never. */
  readonly lastUsedAt: string | null;
  /** Last day (UTC) on which it works, YYYY-MM-DD; null: never expires. */
  readonly expiresOn: string | null;
  /** Of a page key: when it ends at the latest, ISO 8601. Null for other keys. */
  readonly expiresAt: string | null;
  readonly createdAt: string;
}

export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly allModels: boolean;
  readonly requestsPerMinute: number;
  readonly requestsAtOnce: number;
  readonly expiresOn: Date | null;
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly models: readonly { readonly model: { readonly name: string; readonly deletedAt: Date | null } }[];
}

/** What `keyView` needs to be read with a key's row. */
export const keyInclude = {
  models: { select: { model: { select: { name: true, deletedAt: true } } } },
} as const;

export function keyView(row: KeyRecord, nowMs: number): KeyView {
  const expiresOn = row.expiresOn && dayOf(row.expiresOn.getTime());
  const kept = row.models.filter(({ model }) => model.deletedAt === null);
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    state: keyStateOf(row, nowMs),
    mayCall: {
      all: row.allModels,
      models: kept.map(({ model }) => model.name).sort(),
      deleted: row.models.length - kept.length,
    },
    requestsPerMinute: row.requestsPerMinute,
    requestsAtOnce: row.requestsAtOnce,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    expiresOn,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}

export function keyStateOf(
  { revokedAt, expiresOn, expiresAt }: Pick<KeyRecord, 'revokedAt' | 'expiresOn' | 'expiresAt'>,
  nowMs: number,
): KeyState {
  if (revokedAt) return 'Revoked';
  if (expiresAt) return nowMs >= expiresAt.getTime() ? 'Expired' : 'Active';
  return expiresOn && nowMs >= expiryInstantMs(dayOf(expiresOn.getTime())) ? 'Expired' : 'Active';
}

/** `All models`, or names and how many were deleted: `small, vision, 1 deleted`. */
export function mayCallText({ all, models, deleted }: MayCall): string {
  if (all) return 'All models';
  return [...models, ...(deleted > 0 ? [`${deleted} deleted`] : [])].join(', ');
}

/** `60/min · 4 at once` */
export const limitsText = (key: Pick<KeyView, 'requestsPerMinute' | 'requestsAtOnce'>): string =>
  `${numberText(key.requestsPerMinute)}/min · ${numberText(key.requestsAtOnce)} at once`;

export const KEY_RULES = {
  name: LIMITS.keyNameMaxCharacters,
  models: LIMITS.keyMaxModels,
  requestsPerMinute: LIMITS.keyRequestsPerMinute,
  requestsAtOnce: LIMITS.keyRequestsAtOnce,
  perOrg: LIMITS.keysPerOrg,
} as const;
