/** Calls `probe` every `intervalMs`. True: it holds. False: `timeoutMs` have passed. */
export async function until(
  probe: () => boolean | Promise<boolean>,
  { timeoutMs, intervalMs = 25 }: { timeoutMs: number; intervalMs?: number },
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await probe())) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
  return true;
}
