import type { ErrorCode, RefusalCause } from '@tidegate/contracts';

export type Route = 'chat_completions' | 'models' | 'none';

/** What the log line and the metrics report about a request, as far as it got. */
export class RequestFacts {
  /** Monotonic time. */
  readonly startedAtMs = performance.now();
  route: Route = 'none';
  orgId: string | null = null;
  keyId: string | null = null;
  modelId: string | null = null;
  streamed = false;
  code: ErrorCode | null = null;
  /** The limit that refused the request, if one did. */
  cause: RefusalCause | null = null;
  /** Monotonic time. Null if no stream has begun. */
  firstChunkAtMs: number | null = null;
}
