// Loaded into the gateway with node --import. Measures how late its event loop is, and how much of
// that it spent computing: on a busy machine the rest may be waiting for a core. Each GET on
// 127.0.0.1:$BENCH_PROBE_PORT answers with the worst values since the last one.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const INTERVAL_MS = 4;

function watch() {
  let worst = { lateMs: 0, busyMs: 0, gcMs: 0 };
  let last = { ms: performance.now(), cpuMs: cpuMs() };
  const timer = setInterval(() => {
    const now = { ms: performance.now(), cpuMs: cpuMs() };
    worst.lateMs = Math.max(worst.lateMs, now.ms - last.ms - INTERVAL_MS);
    worst.busyMs = Math.max(worst.busyMs, now.cpuMs - last.cpuMs);
    last = now;
  }, INTERVAL_MS);
  timer.unref();
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) worst.gcMs = Math.max(worst.gcMs, duration);
  }).observe({ entryTypes: ['gc'] });
  const server = createServer((_request, response) => {
    response.end(JSON.stringify(worst));
    worst = { lateMs: 0, busyMs: 0, gcMs: 0 };
  });
  server.listen(Number(process.env.BENCH_PROBE_PORT), '127.0.0.1').unref();
}

/** CPU time of the main thread only. */
function cpuMs() {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

if (isMainThread) watch();
