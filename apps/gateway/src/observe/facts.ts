import type { ErrorCode, RefusalCause } from '@tidegate/contracts';
import type { CatalogModel } from '../catalog/catalog.ts';
import type { AnswerUsage } from '../upstream/usage.ts';

export type Route = 'chat_completions' | 'models' | 'none';

/**
 * The parts of a request's time. `receive` lasts from the request's head to the end of all checks,
 * `answer` from the call to the model to the end of its answer. `settle` also covers a withdrawal.
 */
export const PHASES = ['receive', 'admit', 'images', 'wake', 'reserve', 'answer', 'settle'] as const;
export type RequestPhase = (typeof PHASES)[number];

/** What the log line and the metrics report about a request, as far as it got. */
export class RequestFacts {
  /** Monotonic time. */
  readonly startedAtMs = performance.now();
  route: Route = 'none';
  orgId: string | null = null;
  keyId: string | null = null;
  model: CatalogModel | null = null;
  /** The replica that was called last. */
  replicaId: string | null = null;
  /** Null without a complete answer, or if the model reported no valid usage. */
  usage: AnswerUsage | null = null;
  streamed = false;
  code: ErrorCode | null = null;
  /** The limit that refused the request, if one did. */
  cause: RefusalCause | null = null;
  /** Monotonic time. Null if no stream has begun. */
  firstChunkAtMs: number | null = null;
  /** Monotonic time at which the model's answer was complete. */
  answeredAtMs: number | null = null;
  /** Why an answer that had begun is incomplete. */
  brokenBy: 'upstream_error' | 'stream_limit' | null = null;
  phase: RequestPhase | null = 'receive';
  /** Monotonic time at which the phase began. */
  phaseAtMs = this.startedAtMs;
}
