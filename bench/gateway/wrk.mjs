// Whole answers over N connections by wrk, which takes less CPU than any client in Node. So more of
// the machine is left to what is measured.
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findProgram } from '@tidegate/embedded';

const SCRIPT = join(dirname(fileURLToPath(import.meta.url)), 'wrk.lua');
const run = promisify(execFile);

/** @returns the output of load.mjs for the same load */
export async function wrk({ urls: [url], headers, connections, seconds, content }) {
  const program = await findProgram({ title: 'wrk', names: ['wrk'], packages: ['wrk'] });
  const lines = Object.entries({ 'content-type': 'application/json', ...headers })
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('');
  const { stdout } = await run(
    program,
    [
      ...['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', SCRIPT],
      `${url}/chat/completions`,
    ],
    {
      env: {
        ...process.env,
        BENCH_HEADERS: lines,
        BENCH_BODY: JSON.stringify({ model: 'tide', messages: [{ role: 'user', content }] }),
      },
    },
  );
  return JSON.parse(stdout.trim().split('\n').at(-1));
}
