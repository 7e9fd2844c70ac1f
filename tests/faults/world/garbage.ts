import { once } from 'node:events';
import { freePort } from '@tidegate/testing';
import { WebSocket } from 'undici';
import { pause } from './random.ts';

const OPEN_ATTEMPTS = 200;
const ATTEMPTS = 40;
const EVERY_MS = 50;
const TIMEOUT_MS = 30_000;

/** Closes the inspector from within, so that the next process can use its port. */
const CLOSE = "setTimeout(() => process.getBuiltinModule('node:inspector').close(), 10)";

type Ask = (method: string, params?: object) => Promise<Record<string, unknown>>;

/**
 * Makes Node processes collect garbage, one at a time, through an inspector that is open only
 * while it does so.
 */
export class GarbageCollector {
  readonly #port: number;

  private constructor(port: number) {
    this.#port = port;
  }

  static async create(): Promise<GarbageCollector> {
    return new GarbageCollector(await freePort());
  }

  /** The environment that the processes need for this. */
  get env(): Record<string, string> {
    return { NODE_OPTIONS: `--inspect-port=127.0.0.1:${this.#port}` };
  }

  /** Collects garbage. Resolves to the megabytes of heap in use afterwards. */
  async collect(pid: number): Promise<number> {
    process.kill(pid, 'SIGUSR1');
    const usedBytes = await this.#connected(async (ask) => {
      await ask('HeapProfiler.collectGarbage');
      const { usedSize } = await ask('Runtime.getHeapUsage');
      await ask('Runtime.evaluate', { expression: CLOSE });
      return usedSize as number;
    });
    if (await this.#closes()) return usedBytes / 2 ** 20;
    throw new Error('an inspector stayed open');
  }

  /** The process ends the connection. If both sides end it at the same time, Node 20 may crash. */
  async #connected<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    const socket = new WebSocket(await this.#address());
    const limit = { signal: AbortSignal.timeout(TIMEOUT_MS) };
    await once(socket, 'open', limit);
    let id = 0;
    const closed = once(socket, 'close', limit);
    const result = await work(async (method, params = {}) => {
      const answer = once(socket, 'message', limit);
      socket.send(JSON.stringify({ id: ++id, method, params }));
      return JSON.parse((await answer)[0].data).result;
    });
    await closed;
    return result;
  }

  async #address(): Promise<string> {
    for (let attempt = 0; attempt < OPEN_ATTEMPTS; attempt++) {
      const [target] = (await this.#targets()) ?? [];
      if (target) return target.webSocketDebuggerUrl;
      await pause(EVERY_MS);
    }
    throw new Error('no inspector was opened');
  }

  async #closes(): Promise<boolean> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (!(await this.#targets())) return true;
      await pause(EVERY_MS);
    }
    return false;
  }

  async #targets(): Promise<{ webSocketDebuggerUrl: string }[] | undefined> {
    const response = await fetch(`http://127.0.0.1:${this.#port}/json/list`).catch(() => undefined);
    return response && ((await response.json()) as { webSocketDebuggerUrl: string }[]);
  }
}
