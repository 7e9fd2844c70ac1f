import { chownSync, mkdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { findUser, type SystemUser, UNPRIVILEGED } from '@tidegate/processes';
import { ConfigError, type Variables } from '@tidegate/runtime';

/** The user that model processes run as. */
export interface ModelUser {
  /** Null: the runner's own user, who can access everything that belongs to the runner. */
  readonly user: SystemUser | null;
  /** The variables that tell the processes who they are. */
  readonly env: Readonly<Record<string, string>>;
}

/** The runner's settings for it. */
export interface ModelUserSettings {
  readonly wanted: string | undefined;
  readonly home: string | undefined;
  readonly stateDir: string;
}

const NAME = 'model';

/**
 * Decides which user model processes run as. A runner that is root gives them a user of their own.
 * Any other runner can start processes only as its own user.
 *
 * @param uid the runner's own. Undefined: this system has no users
 * @throws ConfigError
 */
export function chooseModelUser(
  { wanted, home, stateDir }: ModelUserSettings,
  env: Variables,
  uid: number | undefined,
): ModelUser {
  const user = wanted === undefined ? (uid === 0 ? UNPRIVILEGED : null) : findUser(wanted);
  if (wanted !== undefined && user === null)
    throw wrong('names a user or group that this machine does not have');
  if (user === null || user.uid === uid) {
    const known = ['HOME', 'USER', 'LOGNAME'].flatMap((name) => (env[name] ? [[name, env[name]]] : []));
    return { user: null, env: { ...Object.fromEntries(known), ...(home ? { HOME: home } : {}) } };
  }
  if (uid !== 0) throw wrong('can name another user only if the runner runs as root');
  const name = wanted?.split(':', 1)[0] ?? NAME;
  const HOME = home ?? user.home ?? homeBeside(stateDir);
  return { user: { ...user, home: HOME }, env: { HOME, USER: name, LOGNAME: name } };
}

/** A model's home is never in the runner's own folder, which is closed to the models' user. */
const homeBeside = (stateDir: string): string => {
  const path = resolve(stateDir);
  return join(dirname(path), `${basename(path)}-models`);
};

/** Creates the home of model processes if it is missing. Only they can read it. */
export function makeHome({ user }: ModelUser): void {
  if (!user?.home) return;
  const made = mkdirSync(user.home, { recursive: true, mode: 0o700 });
  if (made !== undefined) chownSync(user.home, user.uid, user.gid);
}

const wrong = (reason: string) => new ConfigError([{ variable: 'RUNNER_MODEL_USER', reason }]);
