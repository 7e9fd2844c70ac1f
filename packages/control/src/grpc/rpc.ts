export interface Closable {
  close(): void;
}

/** For figures that are only shown: a screen does not wait long for a limiter or a runner. */
export const SHOWN_DEADLINE_MS = 1_000;

/**
 * Loads gRPC with the first call, because most operations do not need it. The command line starts
 * faster this way.
 */
export const rpc = () => import('@tidegate/rpc');

export type Rpc = Awaited<ReturnType<typeof rpc>>;
