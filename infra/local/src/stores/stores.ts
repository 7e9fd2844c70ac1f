import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRedis, freePort, startPostgres, startRedis } from '@tidegate/embedded';
import { StackError } from '../errors.ts';
import { type Files, keepOlder, writeWhole } from '../files.ts';
import type { Startable } from '../process/supervised.ts';
import type { Secrets } from '../secrets.ts';
import { redisUsers } from './redis-users.ts';

/** Logs a store to a new file in the stack's log folder. Keeps the log of the previous start. */
function logTo(files: Files, name: string): (line: string) => void {
  const file = join(files.logs, `${name}.log`);
  keepOlder(file);
  return (line) => {
    try {
      appendFileSync(file, `${line}\n`, { mode: 0o600 });
    } catch {
      // A full disk loses the line, but must not stop the stack.
    }
  };
}

/** A server that packages/embedded runs. It is ready when it has started. */
interface Server {
  readonly url: string;
  readonly pid: number;
  readonly exited: Promise<void>;
  stop(): Promise<void>;
}

/** A store that the stack runs. */
export interface StackStore extends Startable {
  /** Where it is, once it has been started: always at the same port. */
  readonly url: string;
}

/** Each start uses the same port and data. */
function storeOf(name: string, open: () => Promise<Server>): StackStore {
  let url = '';
  return {
    name,
    // A store that has started does not fail by itself.
    steadyMs: 0,
    get url() {
      return url;
    },
    launch: async () => {
      const server = await open();
      url = server.url;
      return {
        pid: server.pid,
        exited: server.exited.then(() => 'it ended'),
        ready: async () => true,
        stop: () => server.stop(),
      };
    },
    failure: () => new StackError(`${name} ended while starting.`),
  };
}

export async function planPostgres(files: Files): Promise<StackStore> {
  const port = await freePort();
  const onLog = logTo(files, 'postgres');
  return storeOf('postgres', () => startPostgres({ dataDir: files.postgres, port, onLog }));
}

export async function planRedis(
  files: Files,
  passwords: Secrets['redisPasswords'],
  appendfsync: 'always' | 'everysec' = 'everysec',
): Promise<StackStore> {
  const port = await freePort();
  const onLog = logTo(files, 'redis');
  const server = await findRedis({ localDir: files.tools, onLog }).catch((cause: Error) => {
    throw new StackError(cause.message, { cause, hint: `Its log: ${join(files.logs, 'redis.log')}` });
  });
  writeWhole(files.redisUsers, redisUsers(passwords));
  const users = { aclFile: files.redisUsers, password: passwords.default };
  return storeOf('redis', () => startRedis({ server, dir: files.redis, port, appendfsync, users, onLog }));
}
