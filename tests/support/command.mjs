// @ts-check
import { spawn } from 'node:child_process';

const KEPT_LINES = 40;

/**
 * Runs a program to its end.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, input?: string, timeoutMs?: number,
 *   signal?: AbortSignal | undefined }} [options] `signal` ends it
 * @returns {Promise<string>} what it wrote to its standard output, without white space around it
 * @throws with the last lines of what it said, if it fails or takes too long
 */
export function run(program, args, { cwd, env, input = '', timeoutMs = 45 * 60_000, signal } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, timeout: timeoutMs, signal });
    const out = { stdout: '', stderr: '' };
    const fail = (/** @type {string} */ why) => {
      const said = `${out.stdout}\n${out.stderr}`.trim().split('\n').slice(-KEPT_LINES).join('\n');
      reject(new Error(`${program} ${args.join(' ')}\n${why}\n${said}`));
    };
    child.stdout.on('data', (data) => (out.stdout += data));
    child.stderr.on('data', (data) => (out.stderr += data));
    child.on('error', ({ message }) => fail(message));
    child.on('close', (code, signal) =>
      code === 0 ? resolve(out.stdout.trim()) : fail(`ended with ${code ?? signal}`),
    );
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/**
 * Asks again until an answer comes that is neither false nor undefined.
 * @template T
 * @param {string} what named in the error
 * @param {number} timeoutMs
 * @param {() => Promise<T | false | undefined>} ask may fail
 * @returns {Promise<T>}
 */
export async function until(what, timeoutMs, ask) {
  const endsAtMs = Date.now() + timeoutMs;
  for (let error; ; ) {
    try {
      const answer = await ask();
      if (answer !== false && answer !== undefined) return answer;
    } catch (failure) {
      error = failure;
    }
    if (Date.now() > endsAtMs)
      throw new Error(
        `${what}: not within ${timeoutMs / 1_000} s. ${error instanceof Error ? error.message : ''}`,
      );
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
