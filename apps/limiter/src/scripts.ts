import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

/**
 * One Lua script. Its file is beside the TypeScript that runs it. The header of the file documents
 * KEYS, ARGV and replies.
 */
export interface Script {
  readonly name: string;
  readonly source: string;
  /** The SHA-1 that EVALSHA takes. */
  readonly sha: string;
}

const INCLUDE = /^--!include (\w+)$/gm;

/** Scripts are not copied to `dist`: the built limiter, too, reads them from `src`. */
const read = (path: string): string => readFileSync(new URL(`../src/${path}.lua`, import.meta.url), 'utf8');

/** Replaces each line `--!include name` with `lua/name.lua`. */
function load(path: string): Script {
  const source = read(path).replace(INCLUDE, (_line, library: string) => read(`lua/${library}`));
  const name = basename(path);
  return { name, source, sha: createHash('sha1').update(source).digest('hex') };
}

export const SCRIPTS = {
  admit: load('admission/admit'),
  authenticate: load('keys/authenticate'),
  countRequest: load('admission/count_request'),
  fenceInstance: load('leases/fence_instance'),
  getMonth: load('admission/get_month'),
  heartbeat: load('leases/heartbeat'),
  acquireLock: load('redis/acquire_lock'),
  joinOrg: load('leases/join_org'),
  markJoined: load('leases/mark_joined'),
  raiseMonth: load('recovery/raise_month'),
  reapOrg: load('leases/reap_org'),
  releaseLargeBody: load('admission/release_large_body'),
  reportInvalidKey: load('throttle/report_invalid_key'),
  reserve: load('admission/reserve'),
  restore: load('admission/restore'),
  restoreSettled: load('admission/restore_settled'),
  revokeKey: load('seeding/revoke_key'),
  seedKey: load('seeding/seed_key'),
  seedMonth: load('seeding/seed_month'),
  settle: load('admission/settle'),
  takeLargeBody: load('admission/take_large_body'),
  unnameOrg: load('seeding/unname_org'),
  withdraw: load('admission/withdraw'),
  writeOrg: load('seeding/write_org'),
} as const;
