import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRedis, freePort, startPostgres, startRedis } from '@tidegate/embedded';
import { StackError } from '../errors.ts';
import { type Files, keepOlder, writeWhole } from '../files.ts';
import type { Secrets } from '../secrets.ts';
import { type KeeperEvents, StoreKeeper } from './keeper.ts';
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

export async function openPostgres(files: Files, events: KeeperEvents): Promise<StoreKeeper> {
  const port = await freePort();
  const onLog = logTo(files, 'postgres');
  return StoreKeeper.start('postgres', () => startPostgres({ dataDir: files.postgres, port, onLog }), events);
}

export async function openRedis(
  files: Files,
  events: KeeperEvents,
  passwords: Secrets['redisPasswords'],
  appendfsync: 'always' | 'everysec' = 'everysec',
): Promise<StoreKeeper> {
  const port = await freePort();
  const onLog = logTo(files, 'redis');
  const server = await findRedis({ localDir: files.tools, onLog }).catch((cause: Error) => {
    throw new StackError(cause.message, { cause, hint: `Its log: ${join(files.logs, 'redis.log')}` });
  });
  writeWhole(files.redisUsers, redisUsers(passwords));
  const users = { aclFile: files.redisUsers, password: passwords.default };
  const open = () => startRedis({ server, dir: files.redis, port, appendfsync, users, onLog });
  return StoreKeeper.start('redis', open, events);
}
