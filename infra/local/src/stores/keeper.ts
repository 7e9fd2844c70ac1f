import { signal } from '@tidegate/processes';

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;

/** A server that packages/embedded runs. */
interface Running {
  readonly url: string;
  readonly pid: number;
  readonly exited: Promise<void>;
  stop(): Promise<void>;
}

export interface KeeperEvents {
  died(name: string, how: string): void;
  ready(name: string): void;
  spawned(name: string): void;
}

/**
 * Keeps a store running until it is stopped. Whenever it dies, it is started again with the same
 * port and data.
 */
export class StoreKeeper {
  readonly name: string;
  readonly url: string;
  readonly #open: () => Promise<Running>;
  readonly #events: KeeperEvents;
  #running: Running | null = null;
  #wanted = true;
  #reopening: Promise<void> = Promise.resolve();

  private constructor(name: string, open: () => Promise<Running>, running: Running, events: KeeperEvents) {
    this.name = name;
    this.url = running.url;
    this.#open = open;
    this.#events = events;
    this.#adopt(running);
  }

  /** @throws EmbeddedError when the store does not start */
  static async start(name: string, open: () => Promise<Running>, events: KeeperEvents): Promise<StoreKeeper> {
    return new StoreKeeper(name, open, await open(), events);
  }

  get pid(): number | null {
    return this.#running?.pid ?? null;
  }

  kill(name: NodeJS.Signals): void {
    if (this.pid !== null) signal(this.pid, name);
  }

  async restart(): Promise<void> {
    this.#wanted = false;
    await this.#running?.stop();
    await this.#reopening;
    this.#wanted = true;
    this.#adopt(await this.#open());
    this.#events.ready(this.name);
  }

  async stop(): Promise<void> {
    this.#wanted = false;
    await this.#running?.stop();
    await this.#reopening;
    await this.#running?.stop();
  }

  #adopt(running: Running): void {
    this.#running = running;
    this.#events.spawned(this.name);
    void running.exited.then(() => {
      this.#running = null;
      if (!this.#wanted) return;
      this.#events.died(this.name, 'it ended');
      this.#reopening = this.#reopen();
    });
  }

  async #reopen(): Promise<void> {
    for (
      let backoffMs = FIRST_BACKOFF_MS;
      this.#wanted;
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS)
    ) {
      try {
        this.#adopt(await this.#open());
        this.#events.ready(this.name);
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, backoffMs));
      }
    }
  }
}
