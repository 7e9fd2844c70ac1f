import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

/**
 * One Lua script. It lies beside the TypeScript that runs it. The header of its file documents
 * KEYS, ARGV and replies.
 */
export interface Script {
  readonly name: string;
  /** Number of KEYS. */
  readonly keys: number;
  readonly source: string;
  /** The SHA-1 that EVALSHA takes. */
  readonly sha: string;
}

const INCLUDE = /^--!include (\w+)$/gm;

/** Scripts are not copied to `dist`: the build reads them in `src`, too. */
const read = (path: string): string => readFileSync(new URL(`../src/${path}.lua`, import.meta.url), 'utf8');

/** Replaces each line `--!include name` with `lua/name.lua`. */
function load(path: string, keys: number): Script {
  const source = read(path).replace(INCLUDE, (_line, library: string) => read(`lua/${library}`));
  const name = basename(path);
  return { name, keys, source, sha: createHash('sha1').update(source).digest('hex') };
}

export const SCRIPTS = {
  admit: load('admission/admit', 6),
  authenticate: load('keys/authenticate', 2),
  countRequest: load('admission/count_request', 4),
  fenceInstance: load('leases/fence_instance', 1),
  getMonth: load('admission/get_month', 2),
  heartbeat: load('leases/heartbeat', 1),
  acquireLock: load('redis/acquire_lock', 1),
  joinOrg: load('leases/join_org', 2),
  markJoined: load('leases/mark_joined', 4),
  raiseMonth: load('recovery/raise_month', 1),
  reapOrg: load('leases/reap_org', 4),
  releaseLargeBody: load('admission/release_large_body', 4),
  reportInvalidKey: load('throttle/report_invalid_key', 2),
  reserve: load('admission/reserve', 5),
  restore: load('admission/restore', 5),
  restoreSettled: load('admission/restore_settled', 4),
  revokeKey: load('seeding/revoke_key', 2),
  seedKey: load('seeding/seed_key', 2),
  seedMonth: load('seeding/seed_month', 1),
  settle: load('admission/settle', 5),
  takeLargeBody: load('admission/take_large_body', 3),
  unnameOrg: load('seeding/unname_org', 1),
  withdraw: load('admission/withdraw', 8),
  writeOrg: load('seeding/write_org', 1),
} as const;
