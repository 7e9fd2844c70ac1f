import { instancesKey, leaseKey, monthKey, orgKeyPrefix, orgStateKey, outboxKey } from '@tidegate/contracts';

/** The characters that have a special meaning in Redis' patterns. */
const GLOB = /[[\]*?\\^-]/g;

/**
 * The names of all Redis keys. Redis Cluster hashes only the part in braces. All keys of one
 * organization share it, and so do all keys that one script touches.
 */
export class KeyNames {
  readonly #prefix: string;
  readonly instances: string;
  readonly orgs: string;
  readonly blocked: string;
  readonly reaperLock: string;
  readonly sweepLock: string;
  readonly recoveryLock: string;
  /** Pub/sub channel. */
  readonly notices: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.instances = instancesKey(prefix);
    this.orgs = `${prefix}orgs`;
    this.blocked = `${prefix}{bad}:blocked`;
    this.reaperLock = `${prefix}lock:reaper`;
    this.sweepLock = `${prefix}lock:sweep`;
    this.recoveryLock = `${prefix}lock:recovery`;
    this.notices = `${prefix}notices`;
  }

  #of(orgId: string): string {
    return orgKeyPrefix(this.#prefix, orgId);
  }

  /** A pattern for SCAN that matches every key of an organization and no other. */
  ofOrg = (orgId: string): string => `${this.#of(orgId).replace(GLOB, '\\$&')}*`;
  org = (orgId: string): string => orgStateKey(this.#prefix, orgId);
  /** @param hash SHA-256 of a key value, hex */
  hash = (orgId: string, hash: string): string => `${this.#of(orgId)}hash:${hash}`;
  /** A pattern for SCAN that matches the state of every API key. */
  get allKeys(): string {
    return `${this.#prefix.replace(GLOB, '\\$&')}{*}:key:*`;
  }
  /** Null: it is not the state of an API key. */
  parseKey(name: string): { readonly orgTag: string; readonly keyId: string } | null {
    const [, orgTag, keyId] = /^\{(\w+)\}:key:(\w+)$/.exec(name.slice(this.#prefix.length)) ?? [];
    return orgTag === undefined || keyId === undefined ? null : { orgTag, keyId };
  }
  key = (orgId: string, keyId: string): string => `${this.#of(orgId)}key:${keyId}`;
  keyWindow = (orgId: string, keyId: string): string => `${this.#of(orgId)}window:${keyId}`;
  orgWindow = (orgId: string): string => `${this.#of(orgId)}window:org`;
  month = (orgId: string, month: string): string => monthKey(this.#prefix, orgId, month);
  open = (orgId: string, instanceId: string): string => `${this.#of(orgId)}open:${instanceId}`;
  withdrawn = (orgId: string, instanceId: string): string => `${this.#of(orgId)}voids:${instanceId}`;
  outbox = (orgId: string): string => outboxKey(this.#prefix, orgId);
  fenced = (orgId: string): string => `${this.#of(orgId)}fenced`;

  lease = (instanceId: string): string => leaseKey(this.#prefix, instanceId);
  orgsOf = (instanceId: string): string => `${this.#prefix}{${instanceId}}:orgs`;

  bad = (address: string): string => `${this.#prefix}{bad}:${address}`;
}

/** Stands in place of the open record of a withdrawn admission, as in lua/record.lua. */
export const WITHDRAWN = 'void';

/** The prefix of the fields named in lua/state.lua. */
const JOINED = 'in:';

/** The instances that have joined an organization, by the fields of its hash. */
export const joinedIn = (fields: readonly string[]): string[] =>
  fields.filter((field) => field.startsWith(JOINED)).map((field) => field.slice(JOINED.length));
