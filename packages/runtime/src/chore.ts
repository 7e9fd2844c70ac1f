export interface Chore {
  /** Lets the current run finish, and begins no other. */
  stop(): Promise<void>;
}

/**
 * Repeats a chore, one run at a time. A failed run is reported and does not stop later ones. Runs
 * begin at multiples of `everyMs`, so that all chores of an idle process run on the same wake-up.
 * Waking the process costs more than the chores themselves.
 */
export function startChore(options: {
  readonly everyMs: number;
  /** In place of `everyMs` after a run that succeeded. */
  readonly nextMs?: () => number;
  /** In place of `everyMs` after a run that failed. */
  readonly retryMs?: number;
  /** Whether the first run is due immediately. */
  readonly due?: boolean;
  readonly run: () => Promise<unknown>;
  readonly onError: (error: unknown) => void;
  /** Called after a run that succeeded. */
  readonly onRan?: (() => void) | undefined;
}): Chore {
  const { everyMs, nextMs = () => everyMs, retryMs = everyMs, due = false, run, onError, onRan } = options;
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const runOnce = async () => {
    let failed = false;
    try {
      await run();
      onRan?.();
    } catch (error) {
      failed = true;
      onError(error);
    }
    schedule(untilNextMs(failed ? retryMs : nextMs()));
  };
  const schedule = (delayMs: number) => {
    if (stopped) return;
    timer = setTimeout(() => {
      running = runOnce();
    }, delayMs);
  };
  schedule(due ? 0 : untilNextMs(everyMs));
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** A timer may fire this early. */
const MAX_EARLY_MS = 50;

/**
 * Time to the next multiple of `everyMs`. One that is almost reached is skipped, because a timer
 * that fires slightly early must not run a chore twice.
 */
export function untilNextMs(everyMs: number): number {
  const leftMs = everyMs - (performance.now() % everyMs);
  return leftMs < Math.min(MAX_EARLY_MS, everyMs / 2) ? leftMs + everyMs : leftMs;
}
