// Runs one load on one target, in a separate process, and measures the CPU time of each of the
// target's processes.
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cpuUs } from './cpu.mjs';
import { wrk } from './wrk.mjs';

const LOAD = join(dirname(fileURLToPath(import.meta.url)), '../load.mjs');
/** Postgres and metering do their work for a request a little after it ended. */
const SETTLE_MS = 700;
const run = promisify(execFile);

async function inNode(load) {
  const { stdout } = await run(process.execPath, [LOAD, JSON.stringify(load)]);
  return JSON.parse(stdout);
}

/**
 * @param load input of load.mjs. With `wrk`, wrk generates the load: whole answers from one URL.
 * @param processes [{ name, pid: () => number }]; adds up processes of the same name
 * @returns the output of load.mjs, and `cpuUs`: microseconds of CPU per request, by name
 */
export async function measure(load, processes) {
  const before = processes.map(({ pid }) => cpuUs(pid()));
  const result = await (load.wrk ? wrk(load) : inNode(load));
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const used = {};
  for (const [i, { name, pid }] of processes.entries())
    used[name] = (used[name] ?? 0) + (cpuUs(pid()) - before[i]) / result.requests;
  return { ...result, cpuUs: used };
}
