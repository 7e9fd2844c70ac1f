import { type CatalogUpdate__Output, callFailure, type RunnerClient } from '@tidegate/rpc';
import type { Activity, ActivityReporter } from './activity.ts';
import type { Catalog } from './catalog.ts';

export interface WatchOptions {
  readonly pool: string;
  readonly client: RunnerClient;
  readonly catalog: Catalog;
  readonly activity: Activity;
  /** Identifies this process to the runner. */
  readonly instanceId: string;
  readonly reportMs: number;
  readonly reconnectMs: number;
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void };
}

type CatalogStream = ReturnType<RunnerClient['watch']>;

/**
 * Keeps the catalog in step with the runner of one pool and acknowledges each applied update.
 * Reports activity every second while there is any, and once more when it ends. The last report of
 * an idle gateway stays valid.
 */
export class CatalogWatch {
  readonly #options: WatchOptions;
  readonly #activity: ActivityReporter;
  #stream: CatalogStream | null = null;
  #live = false;
  #tried = false;
  #stopped = false;
  #revision = 0;
  /** Failed attempts since the catalog was last kept current. */
  #failures = 0;
  #reporter: NodeJS.Timeout | undefined;
  #reconnect: NodeJS.Timeout | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#activity = options.activity.reporter(() => this.#scheduleReport());
  }

  /** Whether the catalog is being kept current. */
  get live(): boolean {
    return this.#live;
  }

  /** Whether the runner has sent its models, or could not be watched. */
  get tried(): boolean {
    return this.#tried;
  }

  start(): void {
    this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#reporter);
    clearTimeout(this.#reconnect);
    const stream = this.#stream;
    this.#stream = null;
    this.#live = false;
    stream?.cancel();
  }

  #connect(): void {
    const stream = this.#options.client.watch();
    this.#stream = stream;
    this.#revision = 0;
    stream.on('data', (update: CatalogUpdate__Output) => {
      if (this.#stream === stream) this.#apply(update);
    });
    stream.on('error', (error) => this.#disconnected(stream, callFailure(error)));
    stream.on('end', () => this.#disconnected(stream, 'the runner ended the watch'));
    this.#report();
  }

  #apply(update: CatalogUpdate__Output): void {
    const { catalog, log, pool } = this.#options;
    catalog.apply(update, pool);
    this.#tried = true;
    this.#revision = update.revision;
    if (!this.#live) {
      this.#live = true;
      this.#failures = 0;
      log.info({ pool, models: update.models.length }, 'catalog watch is up');
    }
    this.#report();
  }

  #report(): void {
    const { instanceId } = this.#options;
    const activity = this.#activity.report();
    this.#stream?.write({ instanceId, acknowledgedRevision: this.#revision, activity });
    if (activity.length > 0) this.#scheduleReport();
  }

  #scheduleReport(): void {
    if (this.#stopped) return;
    this.#reporter ??= setTimeout(() => {
      this.#reporter = undefined;
      this.#report();
    }, this.#options.reportMs);
  }

  #disconnected(stream: CatalogStream, reason: string): void {
    if (this.#stream !== stream) return;
    const { log, pool } = this.#options;
    this.#stream = null;
    this.#tried = true;
    if (this.#live) log.warn({ pool, reason }, 'catalog watch is down');
    else if (this.#failures++ === 0) log.warn({ pool, reason }, 'cannot watch the catalog');
    this.#live = false;
    stream.cancel();
    this.#reconnect = setTimeout(() => this.#connect(), this.#options.reconnectMs);
  }
}
