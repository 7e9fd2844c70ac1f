import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ParsePool } from './parse-pool.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parse-pool-'));
});
afterAll(() => rm(directory, { recursive: true }));

it('rejects what waits for a worker that cannot start, and tries again with the next body', async () => {
  const filename = join(directory, 'worker.mjs');
  await writeFile(filename, "throw new Error('no room')");
  const errors: string[] = [];
  const pool = new ParsePool({ maxThreads: 2, onError: ({ message }) => errors.push(message), filename });
  const run = () => pool.run({ pieces: [Buffer.from('{}')], bytes: 2 });
  const results = await Promise.allSettled([run(), run(), run()]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(errors[0]).toBe('no room');
  await writeFile(filename, "export default () => 'parsed'");
  expect(await run()).toBe('parsed');
  await pool.close();
});
