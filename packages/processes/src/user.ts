import { execFileSync, spawnSync } from 'node:child_process';

/** A user that a process can run as. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
  /** Null: the system does not know of one. */
  readonly home: string | null;
}

/**
 * A user that owns nothing, with an id that no system assigns: outside the ranges for people and
 * services, and outside those that systemd hands out. It is not `nobody`, which other programs run
 * as. It has no entry in the system's list of users, so a process may need HOME and USER.
 */
export const UNPRIVILEGED: SystemUser = { uid: 65_522, gid: 65_522, home: null };

const FORM = /^([\w.-]+)(?::([\w.-]+))?$/;
const isNumber = (text: string): boolean => /^\d{1,9}$/.test(text);

/**
 * Finds a user written as `user` or `user:group`, each a name or a number. If no group is given, it
 * is the user's own, or for an unknown number the group of that number. Null: there is no such user
 * or group.
 */
export function findUser(text: string): SystemUser | null {
  const [, user = '', group] = FORM.exec(text) ?? [];
  const [, , uid, ownGid, , home] = entry('passwd', user);
  const [, , gid] = group === undefined ? [] : entry('group', group);
  const found = {
    uid: Number(uid ?? numberOf(user)),
    gid: Number(group === undefined ? (ownGid ?? numberOf(user)) : (gid ?? numberOf(group))),
  };
  return Number.isNaN(found.uid + found.gid) ? null : { ...found, home: home || null };
}

const numberOf = (text: string): string => (isNumber(text) ? text : 'none');

/** The fields of an entry of the system's databases. Empty: there is none. */
function entry(database: 'passwd' | 'group', key: string): string[] {
  try {
    const out = execFileSync('getent', [database, key], { encoding: 'utf8', stdio: 'pipe' });
    return out.trim().split(':');
  } catch {
    return [];
  }
}

/** Whether a user can read all of these files and folders. Only root can ask. */
export const canRead = (user: SystemUser, paths: readonly string[]): boolean => passes(user, '-r', paths);

/** Whether a user can enter these folders and run these programs. Only root can ask. */
export const canExecute = (user: SystemUser, paths: readonly string[]): boolean => passes(user, '-x', paths);

function passes({ uid, gid }: SystemUser, test: '-r' | '-x', paths: readonly string[]): boolean {
  const script = `for path; do test ${test} "$path" || exit 1; done`;
  return spawnSync('/bin/sh', ['-c', script, 'sh', ...paths], { uid, gid, cwd: '/' }).status === 0;
}
