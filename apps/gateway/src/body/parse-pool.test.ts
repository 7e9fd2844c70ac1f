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

const runOn = (pool: ParsePool) => pool.run({ pieces: [Buffer.from('{}')], bytes: 2 });

it('rejects what waits for a worker that cannot start, and tries again with the next body', async () => {
  const filename = join(directory, 'worker.mjs');
  await writeFile(filename, "throw new Error('no room')");
  const errors: string[] = [];
  const pool = new ParsePool({
    maxThreads: 2,
    onError: ({ message }) => errors.push(message),
    worker: { filename },
  });
  const run = () => runOn(pool);
  const results = await Promise.allSettled([run(), run(), run()]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(errors[0]).toBe('no room');
  await writeFile(filename, "export default () => 'parsed'");
  expect(await run()).toBe('parsed');
  await pool.close();
});

it('rejects a body when no thread can be created for it, and keeps no part of that body', async () => {
  const filename = join(directory, 'ready.mjs');
  await writeFile(filename, "export default () => 'parsed'");
  // Node refuses this option where it would create the thread. A system that has no threads left
  // fails there, too.
  const execArgv = ['--no-such-option'];
  const errors: string[] = [];
  const onError = ({ message }: Error) => errors.push(message);
  const pool = new ParsePool({ maxThreads: 2, onError, worker: { filename, execArgv } });
  for (let i = 0; i < 2; i++) await expect(runOn(pool)).rejects.toThrow('--no-such-option');
  expect(errors).toHaveLength(2);
  execArgv.length = 0;
  expect(await runOn(pool)).toBe('parsed');
  execArgv.push('--no-such-option');
  const [first, second] = await Promise.allSettled([runOn(pool), runOn(pool)]);
  expect([first.status, second.status]).toEqual(['fulfilled', 'rejected']);
  // Anything left of such a body would reject now, with nobody to handle it.
  await pool.close();
  await new Promise(setImmediate);
});
