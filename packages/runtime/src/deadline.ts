/**
 * Does some work under a signal that aborts when the time is up or when `signal` aborts.
 * @param work `expired` tells whether the time is up
 */
export async function withDeadline<T>(
  limitMs: number,
  signal: AbortSignal,
  work: (limited: AbortSignal, expired: () => boolean) => Promise<T>,
): Promise<T> {
  // This does not use AbortSignal.any: in Node 20, what it creates lives as long as `signal`.
  const controller = new AbortController();
  const follow = () => controller.abort(signal.reason);
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    controller.abort();
  }, limitMs);
  if (signal.aborted) follow();
  else signal.addEventListener('abort', follow);
  try {
    return await work(controller.signal, () => expired);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', follow);
  }
}
