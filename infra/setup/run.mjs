// @ts-check
import { spawn } from 'node:child_process';

const KEPT_BYTES = 1 << 20;

/**
 * Runs a program and waits for its end.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd: string, env?: Record<string, string | undefined>, inherit?: boolean }} options
 * `inherit`: pass on its output and do not keep it
 * @returns {Promise<{ code: number, output: string }>} `output`: the last MiB of stdout and stderr
 */
export function run(command, args, { cwd, env = {}, inherit = false }) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: inherit ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (/** @type {Buffer} */ chunk) => {
      output = (output + chunk).slice(-KEPT_BYTES);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.on('error', fail);
    child.on('close', (code, signal) => done({ code: code ?? (signal ? 128 : 1), output }));
  });
}

/**
 * @param {string} output
 * @param {number} lines
 */
export const tail = (output, lines) => output.trimEnd().split('\n').slice(-lines).join('\n');
