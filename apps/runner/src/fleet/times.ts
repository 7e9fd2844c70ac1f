import type { State } from '../condition/machine.ts';
import type { RunnerMetrics } from '../metrics.ts';

interface TimesDeps {
  readonly nowMs: () => number;
  readonly metrics: RunnerMetrics;
  readonly timings: { readonly drainMs: number; readonly minimumStayMs: number };
}

/** When one model was launched and last used, and until when it keeps its room. */
export class Times {
  readonly #deps: TimesDeps;
  #lastUsedMs: number;
  /** 0: it has no room yet, or it was running already. */
  #launchedMs = 0;
  #staysUntilMs = 0;

  constructor(deps: TimesDeps) {
    this.#deps = deps;
    this.#lastUsedMs = deps.nowMs();
  }

  get lastUsedMs(): number {
    return this.#lastUsedMs;
  }

  get unusedMs(): number {
    return this.#deps.nowMs() - this.#lastUsedMs;
  }

  /** Whether it has stayed long enough to make room for others. */
  get mayLeave(): boolean {
    return this.#deps.nowMs() >= this.#staysUntilMs;
  }

  use(): void {
    this.#lastUsedMs = this.#deps.nowMs();
  }

  awaitRoom(): void {
    this.#launchedMs = 0;
  }

  launch(): void {
    this.#launchedMs = this.#deps.nowMs();
  }

  /** Notes what a model that changes its phase begins or ends. */
  changePhase(before: State, after: State): void {
    if (after.phase === 'running') this.use();
    if (before.phase !== 'launching') return;
    this.#endLaunch(after.phase === 'running' ? 'running' : after.reason ? 'failed' : 'stopped');
  }

  /** Takes over a model that has been running since then. */
  resume(sinceMs: number): void {
    this.#staysUntilMs = Math.min(sinceMs, this.#deps.nowMs()) + this.#deps.timings.minimumStayMs;
  }

  /** A request came while it was about to leave, so it stays for a while. */
  stay(): void {
    this.use();
    const untilMs = this.#lastUsedMs + this.#deps.timings.drainMs;
    this.#staysUntilMs = Math.max(this.#staysUntilMs, untilMs);
  }

  /** A launch that never had room is not counted. */
  #endLaunch(result: 'running' | 'failed' | 'stopped'): void {
    if (!this.#launchedMs) return;
    const { metrics, timings, nowMs } = this.#deps;
    metrics.starts.inc({ result });
    if (result !== 'running') return;
    metrics.startSeconds.observe((nowMs() - this.#launchedMs) / 1_000);
    this.#staysUntilMs = nowMs() + timings.minimumStayMs;
  }
}
