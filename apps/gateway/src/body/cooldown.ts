import { isRefusal } from '@tidegate/contracts';
import type { WorkerResult } from './parse-worker.ts';

/**
 * How long an organization cools down after a body, as a multiple of the worker's time for it. So
 * the organization gets a third of a thread's time, and less when the threads get little time on
 * the cores.
 */
const COOLDOWN = 2;
/**
 * After a refused body: an eleventh of a thread's time. Nothing else limits refused bodies, because
 * they are not counted. A busy worker makes everyone wait: a kernel may let it keep a core for
 * milliseconds, whatever its priority.
 */
const COOLDOWN_REFUSED = 10;
/**
 * Bounds the cooldown, because the measured time may include a pause of the process. The worst 20
 * MiB take half a second.
 */
const MAX_COOLDOWN_MS = 5_000;

/** How long an organization cools down after a body in a worker, in whole ms. */
export const cooldownAfter = ({ parsed, tookMs }: WorkerResult): number =>
  isRefusal(parsed) ? cooldownAfterRefusal(tookMs) : bounded(tookMs * COOLDOWN);

/** The same for a body that is refused, whichever step refuses it. */
export const cooldownAfterRefusal = (tookMs: number): number => bounded(tookMs * COOLDOWN_REFUSED);

const bounded = (cooldownMs: number): number => Math.min(MAX_COOLDOWN_MS, Math.ceil(cooldownMs));
