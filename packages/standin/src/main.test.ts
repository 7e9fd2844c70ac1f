import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { startStandin } from './server.ts';

/* Tests the built command in real processes. */

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const running: ChildProcess[] = [];

afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

function run(...flags: string[]) {
  const child = spawn(process.execPath, [MAIN, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.push(child);
  return { child, closed: once(child, 'close') };
}

async function listening(child: ChildProcess): Promise<string> {
  const [line] = await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data');
  expect(String(line)).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+\n$/);
  return String(line).slice('listening on '.length).trim();
}

const ask = (url: string, content: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }),
  });

describe('the command', () => {
  it('prints where it listens, behaves as its flags say, and ends on SIGTERM', async () => {
    const { child, closed } = run(
      '--name',
      'm',
      '--tokens=7',
      '--no-usage',
      '--kind',
      'vision',
      '--context',
      '512',
    );
    const url = await listening(child);
    const answer = await (await ask(url, 'Hi')).json();
    expect(answer).toMatchObject({ model: 'm', usage: null });
    child.kill('SIGTERM');
    await closed;
    expect(child.exitCode).toBe(0);
  });

  it('ends when a request tells it to, and exits 1', async () => {
    const { child, closed } = run('--name', 'm');
    const url = await listening(child);
    await expect(ask(url, '[[exit]]').then((response) => response.text())).rejects.toThrow();
    await closed;
    expect(child.exitCode).toBe(1);
  });

  it.each([
    [['--tokens', 'many'], /bad value for tokens/],
    [['--unheard-of'], /unheard-of/],
    [['--kind', 'audio'], /--kind must be/],
    [['--port', '70000'], /--port must be/],
  ])('refuses %j with a reason and its usage', async (flags, reason) => {
    const { child, closed } = run(...flags);
    let stderr = '';
    child.stderr?.on('data', (chunk) => (stderr += chunk));
    await closed;
    expect(child.exitCode).toBe(1);
    expect(stderr).toMatch(reason);
    expect(stderr).toContain('Usage:');
  });

  it('says that a port is taken, without a stack trace', async () => {
    const first = await startStandin();
    const { child, closed } = run('--port', String(first.port));
    let stderr = '';
    child.stderr?.on('data', (chunk) => (stderr += chunk));
    await closed;
    await first.close();
    expect(child.exitCode).toBe(1);
    expect(stderr).toMatch(/cannot listen on .*EADDRINUSE/);
    expect(stderr).not.toMatch(/ at .*\.js/);
  });
});
