import { ConfigError } from './config.ts';
import { createLogger, type Logger } from './logger.ts';
import { within } from './within.ts';

const DEFAULT_SHUTDOWN_TIMEOUT_MS = 30_000;
/**
 * A terminal and the program that started us may both pass on one Ctrl-C. This soon, they are one.
 */
const SAME_SIGNAL_MS = 1_000;
/** How long a shutdown waits for a start that is still under way. */
const START_GRACE_MS = 5_000;

export interface Service {
  /**
   * Sets what the parsed config says. Defaults: a logger at `info`, no delay, 30 s to shut down.
   */
  configure(options: {
    readonly logger?: Logger;
    /**
     * The time between the end of readiness and the first shutdown step. Load balancers use it to
     * notice.
     */
    readonly shutdownDelayMs?: number;
    /** The time that the shutdown steps may take, after the delay. */
    readonly shutdownTimeoutMs?: number;
  }): void;
  /** Steps run one by one, the last registered first. Register each thing right after it starts. */
  onShutdown(name: string, stop: () => void | Promise<void>): void;
  /** Aborted when the shutdown begins, before its delay. Readiness ends then. */
  readonly stopping: AbortSignal;
}

/**
 * Runs a service's main in this process, from start to exit.
 *
 * SIGTERM, SIGINT or SIGHUP ends readiness, waits for the delay, runs the shutdown steps and exits
 * 0, or 1 when a step failed or took too long. A second signal ends the delay; during the steps it
 * exits 1 at once. If `main` throws, the shutdown steps run and the process exits 1. An uncaught
 * error exits 1 at once. A ConfigError is printed to stderr as it is.
 */
export function runService(main: (service: Service) => void | Promise<void>): void {
  new RunningService().run(main);
}

class RunningService implements Service {
  readonly #steps: { readonly name: string; readonly stop: () => void | Promise<void> }[] = [];
  readonly #stopping = new AbortController();
  readonly stopping = this.#stopping.signal;
  #logger: Logger | undefined;
  #shutdownDelayMs = 0;
  #shutdownTimeoutMs = DEFAULT_SHUTDOWN_TIMEOUT_MS;
  #started: Promise<void> = Promise.resolve();
  #current = 'start';
  #lastSignalMs: number | undefined;
  #endDelay: (() => void) | undefined;

  configure({ logger, shutdownDelayMs, shutdownTimeoutMs }: Parameters<Service['configure']>[0]): void {
    if (logger) this.#logger = logger;
    if (shutdownDelayMs !== undefined) this.#shutdownDelayMs = shutdownDelayMs;
    if (shutdownTimeoutMs !== undefined) this.#shutdownTimeoutMs = shutdownTimeoutMs;
  }

  onShutdown(name: string, stop: () => void | Promise<void>): void {
    this.#steps.push({ name, stop });
  }

  run(main: (service: Service) => void | Promise<void>): void {
    const crash = (err: unknown) => {
      this.#log().fatal({ err }, 'uncaught error');
      process.exit(1);
    };
    process.on('uncaughtException', crash);
    process.on('unhandledRejection', crash);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      process.on(signal, () => this.#onSignal(signal));
    }
    const start = async () => main(this);
    this.#started = start().catch((err: unknown) => {
      this.#reportFailedStart(err);
      void this.#shutdown(1, 0);
    });
  }

  #log(): Logger {
    this.#logger ??= createLogger({ service: 'service', level: 'info' });
    return this.#logger;
  }

  #reportFailedStart(err: unknown): void {
    if (this.stopping.aborted) return;
    if (err instanceof ConfigError) process.stderr.write(`${err.message}\n`);
    else this.#log().fatal({ err }, 'start failed');
  }

  #onSignal(signal: string): void {
    const nowMs = performance.now();
    const first = this.#lastSignalMs === undefined;
    if (nowMs - (this.#lastSignalMs ?? Number.NEGATIVE_INFINITY) < SAME_SIGNAL_MS) return;
    this.#lastSignalMs = nowMs;
    if (first) {
      this.#log().info({ signal, delayMs: this.#shutdownDelayMs }, 'shutting down');
      void this.#shutdown(0, this.#shutdownDelayMs);
    } else if (this.#endDelay) {
      this.#log().info({ signal }, 'second signal: the delay is over');
      this.#endDelay();
    } else {
      this.#log().error({ signal, step: this.#current }, 'second signal: exiting at once');
      process.exit(1);
    }
  }

  async #shutdown(exitCode: number, delayMs: number): Promise<void> {
    if (this.stopping.aborted) return;
    this.#stopping.abort();
    if (delayMs > 0) await this.#delay(delayMs);
    setTimeout(() => {
      this.#log().error(
        { step: this.#current, timeoutMs: this.#shutdownTimeoutMs },
        'shutdown took too long',
      );
      process.exit(1);
    }, this.#shutdownTimeoutMs);
    await within(this.#started, START_GRACE_MS, undefined);
    const stepsSucceeded = await this.#runSteps();
    this.#log().info('stopped');
    process.exit(stepsSucceeded ? exitCode : 1);
  }

  /** Waits for this time, or until the next signal. */
  async #delay(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.#endDelay = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endDelay = undefined;
  }

  async #runSteps(): Promise<boolean> {
    let succeeded = true;
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      this.#current = step.name;
      try {
        await step.stop();
      } catch (err) {
        succeeded = false;
        this.#log().error({ err, step: step.name }, 'a shutdown step failed');
      }
    }
    return succeeded;
  }
}
