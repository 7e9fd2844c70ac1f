import type { Logger } from '@tidegate/runtime';
import { haltBackoffMs } from '../condition/backoff.ts';
import type { Effect, Event } from '../condition/machine.ts';
import type { IsTaken } from '../drivers/driver.ts';
import type { RunnerMetrics } from '../metrics.ts';
import { pause } from '../pause.ts';
import type { Gateways } from '../watch/gateways.ts';
import type { Announcer } from './announcer.ts';
import type { ModelDriver } from './model-driver.ts';
import type { Occupancy } from './occupancy.ts';
import type { Times } from './times.ts';
import type { FleetTimings } from './timings.ts';

interface EffectsDeps {
  readonly occupancy: Occupancy;
  readonly driver: ModelDriver;
  readonly times: Times;
  readonly announcer: Announcer;
  readonly gateways: Gateways;
  readonly timings: FleetTimings;
  readonly logger: Logger;
  readonly metrics: RunnerMetrics;
  readonly dispatch: (event: Event) => void;
}

/** The pauses between the attempts add up to two minutes. */
const MAX_DELETION_ATTEMPTS = 8;

/** Carries out what one model's state machine asks for. The results are dispatched as events. */
export class Effects {
  readonly #deps: EffectsDeps;
  readonly #ending = new AbortController();
  #phaseTimer: NodeJS.Timeout | undefined;
  #drain: AbortController | null = null;

  constructor(deps: EffectsDeps) {
    this.#deps = deps;
  }

  run(effect: Effect): void {
    const { timings } = this.#deps;
    switch (effect.type) {
      case 'launch':
        this.#deps.occupancy.ask();
        break;
      case 'halt':
        void this.#halt();
        break;
      case 'drain':
        void this.#drainThenSleep();
        break;
      case 'end_drain':
        this.#drain?.abort();
        break;
      case 'await_steady':
        this.#afterPhase(timings.steadyMs, { type: 'steady' });
        break;
      case 'back_off':
        this.#afterPhase(effect.delayMs * timings.backoffFactor, { type: 'backoff_over' });
        break;
    }
  }

  /** Forgets what was to happen at the end of a phase that is over. */
  leavePhase(): void {
    clearTimeout(this.#phaseTimer);
  }

  /** Ends everything that is under way. */
  end(): void {
    this.#ending.abort();
    this.leavePhase();
    this.#drain?.abort();
  }

  /**
   * Ends what is left of a deleted model and gives back its room. Gives up after some attempts, or
   * when the runner ends: then the next runner finds what is left. A workload that is taken is left
   * as it is.
   */
  async endDeleted(runnerEnding: AbortSignal, isTaken: IsTaken): Promise<void> {
    const { driver, occupancy } = this.#deps;
    const ended = await this.#haltDriver(MAX_DELETION_ATTEMPTS, runnerEnding, isTaken);
    occupancy.release();
    if (ended) await driver.forget();
  }

  /** Halts the driver, and tries again until nothing is left: no start may meet remains. */
  async #halt(): Promise<void> {
    const { occupancy, dispatch } = this.#deps;
    if (!(await this.#haltDriver(Number.POSITIVE_INFINITY, this.#ending.signal))) return;
    occupancy.end();
    dispatch({ type: 'halted' });
  }

  /** False: something is left. */
  async #haltDriver(maxAttempts: number, signal: AbortSignal, isTaken?: IsTaken): Promise<boolean> {
    const { driver, timings, logger } = this.#deps;
    for (let failures = 1; ; failures++) {
      try {
        await driver.halt(isTaken);
        return true;
      } catch (err) {
        const retryMs = failures < maxAttempts ? haltBackoffMs(failures) * timings.backoffFactor : null;
        const next = retryMs === null ? 'giving up' : 'trying again';
        logger.error({ err, retryMs }, `a model could not be ended and may still run: ${next}`);
        if (retryMs === null) return false;
        await pause(retryMs, signal);
      }
      if (signal.aborted) return false;
    }
  }

  async #drainThenSleep(): Promise<void> {
    const { occupancy, announcer, gateways, timings, times, metrics, dispatch } = this.#deps;
    const drain = new AbortController();
    this.#drain = drain;
    const { signal } = drain;
    const drained = await gateways.drained(occupancy.modelId, announcer.revision, timings.drainMs, signal);
    if (signal.aborted) return;
    if (!drained) times.stay();
    metrics.sleeps.inc({ result: drained ? 'asleep' : 'called_off' });
    dispatch({ type: drained ? 'drained' : 'called_off' });
  }

  #afterPhase(delayMs: number, event: Event): void {
    this.leavePhase();
    this.#phaseTimer = setTimeout(() => this.#deps.dispatch(event), delayMs);
  }
}
