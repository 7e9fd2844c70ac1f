// Starts a program that the bench needs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const STARTED_MS = 20_000;

/**
 * Resolves when the program has printed something, or answers at `url`. Rejects, and leaves nothing
 * running, when it ends before that or takes too long.
 *
 * @returns {Promise<{ pid: number, line: string, stop: () => void }>}
 */
export async function launch(command, args, { url, env } = {}) {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const ended = once(child, 'close').then(([code]) => {
    throw new Error(`${command} ended with ${code}`);
  });
  ended.catch(() => {});
  try {
    const started = url ? answering(url) : once(child.stdout, 'data').then(([line]) => String(line).trim());
    const line = await Promise.race([started, ended, late(`${command} did not start`)]);
    child.stdout.resume();
    return { pid: child.pid ?? 0, line, stop: () => child.kill('SIGTERM') };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

const late = (message) =>
  new Promise((_resolve, reject) => setTimeout(() => reject(new Error(message)), STARTED_MS).unref());

async function answering(url) {
  for (const endMs = performance.now() + STARTED_MS; performance.now() < endMs; ) {
    const answer = await fetch(url).catch(() => null);
    if (answer) {
      await answer.arrayBuffer();
      return '';
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`no answer from ${url}`);
}
