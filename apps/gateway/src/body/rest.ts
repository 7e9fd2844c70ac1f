import { isRefusal } from '@tidegate/contracts';
import type { WorkerResult } from './parse-worker.ts';

/**
 * How long an organization rests after a body, as a multiple of the worker's time for it. So the
 * organization gets a third of a thread's time, and less when the threads get little time on the
 * cores.
 */
const REST = 2;
/**
 * After a refused body: an eleventh of a thread's time. Nothing else limits refused bodies, because
 * they are not counted. A busy worker makes everyone wait: a kernel may let it keep a core for
 * milliseconds, whatever its priority.
 */
const REST_REFUSED = 10;
/**
 * Bounds the rest, because the measured time may include a pause of the process. The worst 20 MiB
 * take half a second.
 */
const MAX_REST_MS = 5_000;

/** How long an organization rests after a body in a worker, in whole ms. */
export const restAfter = ({ parsed, tookMs }: WorkerResult): number =>
  isRefusal(parsed) ? restAfterRefusal(tookMs) : bounded(tookMs * REST);

/** The same for a body that is refused, whichever step refuses it. */
export const restAfterRefusal = (tookMs: number): number => bounded(tookMs * REST_REFUSED);

const bounded = (restMs: number): number => Math.min(MAX_REST_MS, Math.ceil(restMs));
