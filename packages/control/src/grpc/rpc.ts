export interface Closable {
  close(): void;
}

/** How long calls may take, in milliseconds. */
export interface Deadlines {
  /**
   * For live counts, which are only shown: a screen does not wait long for a limiter or a runner.
   */
  readonly shownMs: number;
  /** For changes that limiters have to know of. */
  readonly limiterMs: number;
  /** For what runners change or look up. */
  readonly runnerMs: number;
}

export const DEADLINES: Deadlines = { shownMs: 1_000, limiterMs: 3_000, runnerMs: 10_000 };

/**
 * Loads gRPC with the first call, because most operations do not need it. The command line starts
 * faster this way.
 */
export const rpc = () => import('@tidegate/rpc');

export type Rpc = Awaited<ReturnType<typeof rpc>>;
