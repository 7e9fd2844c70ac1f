import type { Redis } from 'ioredis';

/** The sum of the counts that the pattern's group finds in a section of Redis' INFO. */
export async function statistic(client: Redis, section: string, pattern: RegExp): Promise<number> {
  const info = await client.info(section);
  return [...info.matchAll(pattern)].reduce((sum, [, count]) => sum + Number(count), 0);
}
