import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

/*
 * Tests the lifecycle in real processes. Each test's main imports the built package.
 */

const BUILT = new URL('../dist/index.js', import.meta.url).href;
let dir: string;
let mains = 0;
const running = new Set<ChildProcess>();

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tidegate-runtime-'));
});

afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await rm(dir, { recursive: true, force: true });
});

interface Run {
  readonly child: ChildProcess;
  /** Resolves when the output so far matches. */
  printed(pattern: RegExp): Promise<void>;
  ended(): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
}

/** Runs `body` as a service's main, with `service`, `runtime` and `say` in scope. */
async function run(body: string): Promise<Run> {
  const file = join(dir, `main-${mains++}.mjs`);
  await writeFile(
    file,
    `import * as runtime from '${BUILT}';
     const say = (text) => process.stdout.write(text + '\\n');
     runtime.runService('test', async (service) => {
       service.configure({ logger: runtime.createLogger({ service: 'test', level: 'info' }) });
       setInterval(() => {}, 60_000);
       ${body}
     });`,
  );
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => (stdout += chunk));
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  const closed = once(child, 'close');
  return {
    child,
    async printed(pattern) {
      while (!pattern.test(stdout)) {
        await Promise.race([
          once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data'),
          closed.then(() => Promise.reject(new Error(`ended without ${pattern}: ${stdout}${stderr}`))),
        ]);
      }
    },
    async ended() {
      await closed;
      running.delete(child);
      return { code: child.exitCode, stdout, stderr };
    },
  };
}

describe('a service', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'stops on %s what it started, last first and one at a time, and exits 0',
    async (signal) => {
      const { child, printed, ended } = await run(`
        service.stopping.addEventListener('abort', () => say('not ready'));
        service.onShutdown('first', () => say('first'));
        service.onShutdown('second', async () => { await new Promise(setImmediate); say('second'); });
        say('up');`);
      await printed(/up/);
      child.kill(signal);
      const { code, stdout } = await ended();
      expect(code).toBe(0);
      expect(stdout.split('\n').filter((line) => !line.startsWith('{') && line !== '')).toEqual([
        'up',
        'not ready',
        'second',
        'first',
      ]);
    },
  );

  it('flushes its log before it exits', async () => {
    const { child, printed, ended } = await run(`
      const logger = runtime.createLogger({ service: 'test', level: 'info' });
      service.onShutdown('last words', () => { for (let i = 0; i < 2000; i++) logger.info('line ' + i); });
      say('up');`);
    await printed(/up/);
    child.kill('SIGTERM');
    const { code, stdout } = await ended();
    expect(code).toBe(0);
    expect(stdout).toContain('line 1999');
    expect(stdout).toContain('"msg":"stopped"');
  });

  it('ends a shutdown that does not end: at the deadline it names the step and exits 1', async () => {
    const { child, printed, ended } = await run(`
      service.configure({ shutdownTimeoutMs: 50 });
      service.onShutdown('never reached', () => say('reached'));
      service.onShutdown('drain', () => new Promise(() => {}));
      say('up');`);
    await printed(/up/);
    child.kill('SIGTERM');
    const { code, stdout } = await ended();
    expect(code).toBe(1);
    expect(stdout).toMatch(/"step":"drain".*shutdown took too long/);
    expect(stdout).not.toContain('reached');
  });

  it('lets a shutdown take its time even if its deadline is beyond the longest timer', async () => {
    const { child, printed, ended } = await run(`
      service.configure({ shutdownTimeoutMs: 2 ** 31 + 20_000 });
      service.onShutdown('drain', () => new Promise((resolve) => setTimeout(resolve, 100)));
      say('up');
    `);
    await printed(/up/);
    child.kill('SIGTERM');
    const { code, stdout } = await ended();
    expect([code, stdout.includes('took too long')]).toEqual([0, false]);
  });

  it('exits 1 immediately on a second signal that comes a while after the first', async () => {
    const { child, printed, ended } = await run(`
      service.onShutdown('drain', () => { say('draining'); return new Promise(() => {}); });
      say('up');`);
    await printed(/up/);
    child.kill('SIGTERM');
    await printed(/draining/);
    const again = setInterval(() => child.kill('SIGTERM'), 100);
    const { code, stdout } = await ended();
    clearInterval(again);
    expect(code).toBe(1);
    expect(stdout).toMatch(/"step":"drain".*second signal/);
  });

  it('treats a Ctrl-C that reaches it twice as one', async () => {
    const { child, printed, ended } = await run(`
      const nowMs = performance.now();
      performance.now = () => nowMs;
      service.onShutdown('drain', async () => {
        say('draining');
        await new Promise((resolve) => process.once('SIGINT', resolve));
      });
      say('up');`);
    await printed(/up/);
    child.kill('SIGINT');
    await printed(/draining/);
    child.kill('SIGINT');
    expect((await ended()).code).toBe(0);
  });

  it('reports not ready first, and keeps working until its delay is over', async () => {
    const { child, printed, ended } = await run(`
      service.configure({ shutdownDelayMs: 300, shutdownTimeoutMs: 200 });
      service.stopping.addEventListener('abort', () => setTimeout(() => say('at work'), 200));
      service.onShutdown('server', () => say('closed'));
      say('up');`);
    await printed(/up/);
    child.kill('SIGTERM');
    const { code, stdout } = await ended();
    expect(code).toBe(0);
    expect(stdout).toMatch(/at work\n(.*\n)*closed/);
  });

  it('ends its delay, and nothing else, on a second signal that comes a while after the first', async () => {
    const { child, printed, ended } = await run(`
      service.configure({ shutdownDelayMs: 3_600_000 });
      let nowMs = 0;
      performance.now = () => nowMs;
      service.stopping.addEventListener('abort', () => {
        say('not ready');
        setImmediate(() => { nowMs = 1_000; });
      });
      service.onShutdown('server', () => new Promise((resolve) => setTimeout(resolve, 300)));
      say('up');`);
    await printed(/up/);
    child.kill('SIGTERM');
    await printed(/not ready/);
    const again = setInterval(() => child.kill('SIGTERM'), 100);
    const { code, stdout } = await ended();
    clearInterval(again);
    expect(code).toBe(0);
    expect(stdout).toMatch(/second signal: ending the delay/);
  });

  it('has no delay when its start fails', async () => {
    const { ended } = await run(`
      service.configure({ shutdownDelayMs: 3_600_000 });
      throw new Error('port is taken');`);
    expect((await ended()).code).toBe(1);
  });

  it('continues to stop after a step that fails, and exits 1', async () => {
    const { child, printed, ended } = await run(`
      service.onShutdown('store', () => say('store closed'));
      service.onShutdown('server', () => { throw new Error('cannot close'); });
      say('up');`);
    await printed(/up/);
    child.kill('SIGTERM');
    const { code, stdout } = await ended();
    expect(code).toBe(1);
    expect(stdout).toMatch(/"step":"server"/);
    expect(stdout).toContain('store closed');
  });

  it('stops what it had started when its start fails, and exits 1', async () => {
    const { ended } = await run(`
      service.onShutdown('store', () => say('store closed'));
      throw new Error('port is taken');`);
    const { code, stdout } = await ended();
    expect(code).toBe(1);
    expect(stdout).toMatch(/port is taken.*start failed/);
    expect(stdout).toContain('store closed');
  });

  const lastLine = (stdout: string) => JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');

  it('names the variables of a bad configuration in one line, the last of its log, and exits 1', async () => {
    const { ended } = await run(
      `throw new runtime.ConfigError([
         { variable: 'GATEWAY_PORT', reason: 'is not set' }, { variable: 'LOG_LEVEL', reason: 'is no level' }]);`,
    );
    const { code, stdout, stderr } = await ended();
    expect(code).toBe(1);
    expect(lastLine(stdout)).toMatchObject({
      level: 'fatal',
      service: 'test',
      issues: [
        { variable: 'GATEWAY_PORT', reason: 'is not set' },
        { variable: 'LOG_LEVEL', reason: 'is no level' },
      ],
      msg: 'bad configuration: GATEWAY_PORT is not set; LOG_LEVEL is no level',
    });
    expect(stderr).toBe('');
  });

  it('names the variable of a port that is taken, in one line, the last of its log', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { ended } = await run(`
      service.configure({ ports: { GATEWAY_PORT: ${port}, ADMIN_PORT: 1 } });
      const logger = runtime.createLogger({ service: 'test', level: 'info' });
      const metrics = runtime.createMetrics('test');
      await runtime.startAdmin({ port: ${port}, host: '127.0.0.1', metrics, ready: () => true, logger });`);
    const { code, stdout } = await ended();
    taken.close();
    expect(code).toBe(1);
    expect(lastLine(stdout).msg).toBe(
      `start failed: GATEWAY_PORT ${port} is taken: another process listens there`,
    );
    expect(stdout).not.toContain('    at ');
  });

  it.each([
    ['exception', `setImmediate(() => { throw new Error('boom'); });`],
    ['rejection', `void Promise.reject(new Error('boom'));`],
  ])('logs an uncaught %s and exits 1', async (_kind, body) => {
    const { code, stdout } = await (await run(body)).ended();
    expect(code).toBe(1);
    expect(stdout).toMatch(/"level":"fatal".*boom/);
  });
});
