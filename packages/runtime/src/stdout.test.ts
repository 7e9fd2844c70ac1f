import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';

/** A process that has not ended by then never will. */
const STUCK_MS = 120_000;
const RUNTIME = JSON.stringify(new URL('../dist/index.js', import.meta.url).href);

/** Logs more than fits into one write, and logs again after that write has failed. */
const BUSY = `
  import { createLogger, runService } from ${RUNTIME};
  runService('test', async (service) => {
    const logger = createLogger({ service: 'test', level: 'info' });
    service.configure({ logger });
    process.on('message', () => { throw new Error('crash'); });
    for (let i = 0; i < 20; i++) {
      logger.info('x'.repeat(8_000));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    process.send('works on');
  });
`;

/** Logs nothing until it is ended. */
const IDLE = `
  import { createLogger, runService } from ${RUNTIME};
  runService('test', (service) => {
    service.configure({ logger: createLogger({ service: 'test', level: 'info' }) });
    process.on('message', () => { throw new Error('crash'); });
    process.send('works on');
  });
`;

function start(program: string, stdout: number | 'pipe'): ChildProcess {
  const args = ['--input-type=module', '--eval', program];
  return spawn(process.execPath, args, { stdio: ['pipe', stdout, 'inherit', 'ipc'] });
}

async function expectEnd(child: ChildProcess, how: string): Promise<void> {
  const exited = once(child, 'exit');
  const stuck = setTimeout(() => child.kill('SIGKILL'), STUCK_MS);
  try {
    expect(await Promise.race([once(child, 'message'), exited])).toEqual(['works on', undefined]);
    child.stdout?.destroy();
    if (how === 'crash') child.send('crash');
    else child.kill('SIGTERM');
    expect(await exited).toEqual([how === 'crash' ? 1 : 0, null]);
  } finally {
    clearTimeout(stuck);
    child.kill('SIGKILL');
  }
}

describe.each(['SIGTERM', 'crash'])('a service ends on %s', (how) => {
  it('even if its log is on a full disk', async () => {
    const full = await open('/dev/full', 'w');
    await expectEnd(start(BUSY, full.fd), how);
    await full.close();
  });

  it.each([
    ['busy', BUSY],
    ['idle', IDLE],
  ])('even if the reader of its log has gone, while it is %s', async (_, program) => {
    await expectEnd(start(program, 'pipe'), how);
  });
});

/** Logs lines of up to 20,000 bytes, each with its number, and exits immediately. */
const linesThat = (count: number, before: string) => `
  ${before}
  import { openStdout } from ${RUNTIME};
  const stdout = openStdout();
  for (let i = 0; i < ${count}; i++) {
    stdout.write(i + 'é'.repeat((i * 977) % 10_000) + '\\n');
    if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  process.exit();
`;

describe('lines', () => {
  it.each([
    ['a pipe', ''],
    // Node makes a pipe non-blocking when its own stdout is first used.
    ['a pipe that does not block', 'process.stdout;'],
  ])('arrive whole and in order at %s, including those just before an exit', async (_, before) => {
    const child = start(linesThat(400, before), 'pipe');
    const lines = (await text(child.stdout as NonNullable<typeof child.stdout>)).split('\n');
    expect(lines.pop()).toBe('');
    expect(lines.map((line) => Number.parseInt(line, 10))).toEqual(Array.from({ length: 400 }, (_, i) => i));
    expect(lines.every((line, i) => line === i + 'é'.repeat((i * 977) % 10_000))).toBe(true);
  });

  it('wait for a slow reader up to a bound, and are dropped whole past it', async () => {
    const child = start(
      `
      import { openStdout } from ${RUNTIME};
      const stdout = openStdout();
      for (let i = 0; i < 9_000; i++) stdout.write(i + 'x'.repeat(1_000) + '\\n');
      process.send('written');
      process.on('message', () => process.exit());
    `,
      'pipe',
    );
    await once(child, 'message');
    const read = text(child.stdout as NonNullable<typeof child.stdout>);
    child.send('exit');
    const lines = (await read).trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(4_000);
    // The pipe and this reader hold some more.
    expect(lines.length).toBeLessThan(5_000);
    expect(lines.every((line, i) => line === i + 'x'.repeat(1_000))).toBe(true);
  });
});
