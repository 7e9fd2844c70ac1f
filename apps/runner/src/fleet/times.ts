import { type Clocks, monotonicSince } from '../clocks.ts';
import type { State } from '../condition/machine.ts';
import type { RunnerMetrics } from '../metrics.ts';

interface TimesDeps extends Clocks {
  readonly metrics: RunnerMetrics;
  readonly timings: { readonly drainMs: number; readonly minimumStayMs: number };
}

/**
 * When one model was launched and last used, and until when it keeps its room, by the monotonic
 * clock.
 */
export class Times {
  readonly #deps: TimesDeps;
  #lastUsedMs: number;
  /** Null: it has no room yet, or it was running already. */
  #launchedMs: number | null = null;
  #staysUntilMs = 0;

  constructor(deps: TimesDeps) {
    this.#deps = deps;
    this.#lastUsedMs = deps.monotonicMs();
  }

  get lastUsedMs(): number {
    return this.#lastUsedMs;
  }

  get unusedMs(): number {
    return this.#deps.monotonicMs() - this.#lastUsedMs;
  }

  /** Whether it has stayed long enough to make room for others. */
  get mayLeave(): boolean {
    return this.#deps.monotonicMs() >= this.#staysUntilMs;
  }

  use(): void {
    this.#lastUsedMs = this.#deps.monotonicMs();
  }

  awaitRoom(): void {
    this.#launchedMs = null;
  }

  launch(): void {
    this.#launchedMs = this.#deps.monotonicMs();
  }

  /** Notes what begins or ends with a change of phase. */
  changePhase(before: State, after: State): void {
    if (after.phase === 'running') this.use();
    if (before.phase !== 'launching') return;
    this.#endLaunch(after.phase === 'running' ? 'running' : after.reason ? 'failed' : 'stopped');
  }

  /** Takes over a model that has been running since `sinceMs`, by the previous runner's clock. */
  resume(sinceMs: number): void {
    this.#staysUntilMs = monotonicSince(sinceMs, this.#deps) + this.#deps.timings.minimumStayMs;
  }

  /** A request came while it was about to leave, so it stays for a while. */
  stay(): void {
    this.use();
    const untilMs = this.#lastUsedMs + this.#deps.timings.drainMs;
    this.#staysUntilMs = Math.max(this.#staysUntilMs, untilMs);
  }

  /** A launch that never had room is not counted. */
  #endLaunch(result: 'running' | 'failed' | 'stopped'): void {
    if (this.#launchedMs === null) return;
    const { metrics, timings, monotonicMs } = this.#deps;
    metrics.starts.inc({ result });
    if (result !== 'running') return;
    metrics.startSeconds.observe((monotonicMs() - this.#launchedMs) / 1_000);
    this.#staysUntilMs = monotonicMs() + timings.minimumStayMs;
  }
}
