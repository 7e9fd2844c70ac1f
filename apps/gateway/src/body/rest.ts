import { isRefusal } from '@tidegate/contracts';
import type { WorkerResult } from './parse-worker.ts';

/**
 * How long an organization rests after a body, as a multiple of the worker's time for it. So it
 * gets a third of a thread's time, and less when the threads get little of the cores.
 */
const REST = 2;
/**
 * After a refused body: an eleventh of a thread's time. Nothing else limits refused bodies, because
 * they are not counted. A busy worker makes everyone wait: a kernel may leave it the core for
 * milliseconds, whatever its priority.
 */
const REST_REFUSED = 10;
/**
 * Bounds the rest, because a pause of the process may have been measured too. The worst 20 MiB take
 * half a second.
 */
const MAX_REST_MS = 5_000;

/** How long an organization rests after a body in a worker, in whole ms. */
export function restAfter({ parsed, tookMs }: WorkerResult): number {
  const times = isRefusal(parsed) ? REST_REFUSED : REST;
  return Math.min(MAX_REST_MS, Math.ceil(tookMs * times));
}
