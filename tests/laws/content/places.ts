import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Db } from '@tidegate/db';
import { createRedisClient } from '@tidegate/redis';
import { Redis } from 'ioredis';
import type { Reachable } from '../../support/control.ts';

/** Bytes that a running or stopped stack keeps or shows. */
export interface Place {
  readonly where: string;
  readonly bytes: Buffer;
}

export function metricsOf(stack: Reachable): Promise<Place[]> {
  return Promise.all(
    stack.info.services.map(async ({ name, metrics }) => ({
      where: `metrics of ${name}`,
      bytes: Buffer.from(await (await fetch(metrics)).arrayBuffer()),
    })),
  );
}

/** Every key of Redis with its content, including the queue's jobs, uncompressed. */
export async function redisOf(stack: Reachable): Promise<Place[]> {
  const client = createRedisClient(stack.info.redis, { lazyConnect: true });
  try {
    await client.connect();
    const servers = client instanceof Redis ? [client] : client.nodes('master');
    return (await Promise.all(servers.map(keysOf))).flat();
  } finally {
    client.disconnect();
  }
}

async function keysOf(redis: Redis): Promise<Place[]> {
  await redis.config('SET', 'rdbcompression', 'no');
  const places: Place[] = [];
  for await (const names of redis.scanStream({ count: 1000 })) {
    for (const name of names as string[]) {
      const dump = (await redis.dumpBuffer(name)) ?? Buffer.alloc(0);
      places.push({ where: `Redis ${name}`, bytes: Buffer.concat([Buffer.from(`${name}\n`), dump]) });
    }
  }
  return places;
}

/**
 * Every row of every table as text, and the server's view of its sessions. Also makes the server
 * write everything to its files.
 */
export async function postgresOf(db: Db): Promise<Place[]> {
  await db.$executeRawUnsafe('CHECKPOINT');
  const tables = await db.$queryRawUnsafe<{ name: string }[]>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
     WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
     UNION SELECT 'pg_stat_activity'`,
  );
  const places: Place[] = [];
  for (const { name } of tables) {
    const rows = await db.$queryRawUnsafe<{ row: string }[]>(`SELECT t::text AS row FROM ${name} t`);
    places.push({ where: `table ${name}`, bytes: Buffer.from(rows.map(({ row }) => row).join('\n')) });
  }
  return places;
}

/** Every file below a folder that was modified since. */
export function* filesBelow(folder: string, sinceMs = 0): Generator<Place> {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && statSync(path).mtimeMs >= sinceMs) yield { where: path, bytes: readFileSync(path) };
  }
}
