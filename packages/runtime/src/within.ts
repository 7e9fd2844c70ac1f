/**
 * Waits for work, but no longer than `ms`: then it resolves to `late`. Late work goes on, and its
 * result, even a failure, is ignored. Rejects if the work fails in time.
 */
export async function within<T, L>(work: Promise<T>, ms: number, late: L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const timeIsUp = new Promise<L>((resolve) => {
    timer = setTimeout(resolve, ms, late);
  });
  try {
    return await Promise.race([work, timeIsUp]);
  } finally {
    clearTimeout(timer);
  }
}

/** The result of `ask`, or `otherwise` if it fails or takes longer than `ms`. */
export async function answerWithin<T, L>(
  ask: () => T | Promise<T>,
  ms: number,
  otherwise: L,
): Promise<T | L> {
  const asked = async () => ask();
  return within<T | L, L>(
    asked().catch(() => otherwise),
    ms,
    otherwise,
  );
}
