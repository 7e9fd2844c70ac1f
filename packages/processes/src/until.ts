/**
 * Calls `probe` every `intervalMs`. Returns true when it holds, and false when `signal` aborts or
 * `timeoutMs` have passed.
 */
export async function until(
  probe: () => boolean | Promise<boolean>,
  { timeoutMs, intervalMs = 25, signal }: { timeoutMs: number; intervalMs?: number; signal?: AbortSignal },
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await probe())) {
    if (signal?.aborted || performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
  return true;
}
