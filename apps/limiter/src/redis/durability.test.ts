import { setImmediate } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { createLogger } from '@tidegate/runtime';
import type { Redis } from 'ioredis';
import { warnOfDurability } from './durability.ts';
import type { RedisLink } from './link.ts';

/** What the limiter logs about servers whose INFO says this. */
async function loggedOf(...told: string[]): Promise<{ level: string; msg: string }[]> {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) > 0 };
  const logger = createLogger({ service: 'limiter', level: 'info', destination });
  const servers = told.map((text) => ({ info: async () => text }) as unknown as Redis);
  const link = {
    shards: { all: () => servers },
    ready: () => true,
    onReady: (listener: () => void) => listener(),
  } as unknown as RedisLink;
  warnOfDurability(link, logger);
  // By then, the answers have arrived.
  await setImmediate();
  return lines.map((line) => JSON.parse(line));
}

const server = (version: string) =>
  `# Server\r\nredis_version:${version}\r\n# Persistence\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\n`;

it('nothing is logged about a Redis that is new enough and keeps its data', async () => {
  expect(await loggedOf(server('6.2.0'), server('8.0.2'))).toEqual([]);
});

it('a Redis that is too old is logged once, as an error that names both versions', async () => {
  expect(await loggedOf(server('7.0.15'), server('6.0.16'), server('6.0.16'))).toMatchObject([
    { msg: 'Redis 6.0.16 is too old: Tidegate needs version 6.2 or newer' },
  ]);
});
