import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** One Lua script in `lua/`. The header of its file documents KEYS, ARGV and replies. */
export interface Script {
  readonly name: string;
  /** Number of KEYS. */
  readonly keys: number;
  readonly source: string;
  /** The SHA-1 that EVALSHA takes. */
  readonly sha: string;
}

const INCLUDE = /^--!include (\w+)$/gm;

const read = (path: string): string => readFileSync(new URL(`../lua/${path}.lua`, import.meta.url), 'utf8');

/** Replaces each line `--!include name` with `lua/lib/name.lua`. */
function load(name: string, keys: number): Script {
  const source = read(name).replace(INCLUDE, (_line, library: string) => read(`lib/${library}`));
  return { name, keys, source, sha: createHash('sha1').update(source).digest('hex') };
}

export const SCRIPTS = {
  admit: load('admit', 6),
  authenticate: load('authenticate', 2),
  countRequest: load('count_request', 4),
  fenceInstance: load('fence_instance', 1),
  getMonth: load('get_month', 2),
  heartbeat: load('heartbeat', 1),
  acquireLock: load('acquire_lock', 1),
  joinOrg: load('join_org', 2),
  markJoined: load('mark_joined', 4),
  reapOrg: load('reap_org', 4),
  releaseLargeBody: load('release_large_body', 4),
  reportInvalidKey: load('report_invalid_key', 2),
  reserve: load('reserve', 5),
  restore: load('restore', 5),
  restoreSettled: load('restore_settled', 4),
  revokeKey: load('revoke_key', 2),
  seedKey: load('seed_key', 2),
  seedMonth: load('seed_month', 1),
  settle: load('settle', 5),
  takeLargeBody: load('take_large_body', 3),
  unnameOrg: load('unname_org', 1),
  withdraw: load('withdraw', 8),
  writeOrg: load('write_org', 1),
} as const;
