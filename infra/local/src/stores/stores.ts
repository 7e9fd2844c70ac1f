import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRedis, startPostgres, startRedis } from '@tidegate/embedded';
import { StackError } from '../errors.ts';
import type { Files } from '../files.ts';
import { choosePort } from '../ports.ts';
import { type KeeperEvents, StoreKeeper } from './keeper.ts';

/** One file a store, in the stack's log folder. */
const logTo = (files: Files, name: string) => (line: string) =>
  appendFileSync(join(files.logs, `${name}.log`), `${line}\n`, { mode: 0o600 });

export async function openPostgres(files: Files, events: KeeperEvents): Promise<StoreKeeper> {
  const port = await choosePort();
  const onLog = logTo(files, 'postgres');
  return StoreKeeper.start('postgres', () => startPostgres({ dataDir: files.postgres, port, onLog }), events);
}

export async function openRedis(
  files: Files,
  events: KeeperEvents,
  appendfsync: 'always' | 'everysec' = 'everysec',
): Promise<StoreKeeper> {
  const port = await choosePort();
  const onLog = logTo(files, 'redis');
  const server = await findRedis({ localDir: files.tools, onLog }).catch((cause: Error) => {
    throw new StackError(cause.message, { cause, hint: `Its log: ${join(files.logs, 'redis.log')}` });
  });
  const open = () => startRedis({ server, dir: files.redis, port, appendfsync, onLog });
  return StoreKeeper.start('redis', open, events);
}
