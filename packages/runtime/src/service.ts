import { ConfigError } from './config.ts';
import { MAX_TIMER_MS } from './fields.ts';
import { createLogger, type Logger } from './logger.ts';
import { within } from './within.ts';

const DEFAULT_SHUTDOWN_TIMEOUT_MS = 30_000;
/**
 * A terminal and the program that started us may both pass on one Ctrl-C. Signals this close
 * together count as one.
 */
const SAME_SIGNAL_MS = 1_000;
/** How long a shutdown waits for a start that is still under way. */
const START_GRACE_MS = 5_000;

export interface Service {
  /** Applies the parsed config. Defaults: a logger at `info`, no delay, 30 s to shut down. */
  configure(options: {
    readonly logger?: Logger;
    /** The ports that the service opens, by the variable that sets each. */
    readonly ports?: Readonly<Record<string, number>>;
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
  /** Ends the service as an exception from its main does. */
  fail(err: unknown): void;
  /** Aborted when the shutdown begins, before its delay. Readiness ends then. */
  readonly stopping: AbortSignal;
}

/**
 * Runs a service's main in this process, from start to exit.
 *
 * SIGTERM, SIGINT or SIGHUP ends readiness, waits for the delay, runs the shutdown steps and exits
 * 0, or 1 when a step failed or took too long. A second signal ends the delay; during the steps it
 * exits 1 immediately. If `main` throws, the last line of the log says why, the shutdown steps run
 * and the process exits 1. An uncaught error exits 1 immediately. For a person at a terminal, a
 * ConfigError is also printed as text.
 *
 * @param name the service's name, for what is logged before it is configured
 */
export function runService(name: string, main: (service: Service) => void | Promise<void>): void {
  new RunningService(name).run(main);
}

class RunningService implements Service {
  readonly #steps: { readonly name: string; readonly stop: () => void | Promise<void> }[] = [];
  readonly #stopping = new AbortController();
  readonly stopping = this.#stopping.signal;
  readonly #name: string;
  #logger: Logger | undefined;
  #ports: Readonly<Record<string, number>> = {};
  #shutdownDelayMs = 0;
  #shutdownTimeoutMs = DEFAULT_SHUTDOWN_TIMEOUT_MS;
  #started: Promise<void> = Promise.resolve();
  #current = 'start';
  #lastSignalMs: number | undefined;
  #endDelay: (() => void) | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  configure(options: Parameters<Service['configure']>[0]): void {
    const { logger, ports, shutdownDelayMs, shutdownTimeoutMs } = options;
    if (logger) this.#logger = logger;
    if (ports) this.#ports = ports;
    if (shutdownDelayMs !== undefined) this.#shutdownDelayMs = shutdownDelayMs;
    // A setting may already be as long as a timer can be, and the service adds to it.
    if (shutdownTimeoutMs !== undefined) this.#shutdownTimeoutMs = Math.min(shutdownTimeoutMs, MAX_TIMER_MS);
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
    this.#started = start().catch((err: unknown) => this.fail(err));
  }

  fail(err: unknown): void {
    this.#reportFailedStart(err);
    void this.#shutdown(1, 0);
  }

  #log(): Logger {
    this.#logger ??= createLogger({ service: this.#name, level: 'info' });
    return this.#logger;
  }

  #reportFailedStart(err: unknown): void {
    if (this.stopping.aborted) return;
    if (err instanceof ConfigError) {
      const { issues } = err;
      if (process.stderr.isTTY) process.stderr.write(`${err.message}\n`);
      const each = issues.map(({ variable, reason }) => `${variable} ${reason}`);
      this.#log().fatal({ issues }, `bad configuration: ${each.join('; ')}`);
      return;
    }
    const refused = refusedPort(err, this.#ports);
    if (refused) this.#log().fatal(`start failed: ${refused}`);
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
      this.#log().info({ signal }, 'second signal: ending the delay');
      this.#endDelay();
    } else {
      this.#log().error({ signal, step: this.#current }, 'second signal: exiting immediately');
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
    // After a start that failed, the last line is the one that says why.
    if (exitCode === 0) this.#log().info('stopped');
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

const PORT_PROBLEMS: readonly [code: string, problem: string][] = [
  ['EADDRINUSE', 'is taken: another process listens there'],
  ['EACCES', 'may not be opened by this user'],
];

/** Why a port could not be opened, with its variable. Null: the error is about something else. */
function refusedPort(err: unknown, ports: Readonly<Record<string, number>>): string | null {
  if (!(err instanceof Error)) return null;
  // gRPC's errors carry only the message of the system error.
  const [, code, port] = /\blisten (E[A-Z]+)\b.*:(\d+)/.exec(err.message) ?? [];
  const problem = PORT_PROBLEMS.find(([known]) => known === code)?.[1];
  if (problem === undefined) return null;
  const variables = Object.entries(ports).flatMap(([name, set]) => (String(set) === port ? [name] : []));
  return `${[variables.join(' and '), port].filter(Boolean).join(' ')} ${problem}`;
}
