import { once } from 'node:events';
import { freePort } from '@tidegate/testing';
import { WebSocket } from 'undici';
import { pause } from './random.ts';

const ATTEMPTS = 100;
const EVERY_MS = 50;
const TIMEOUT_MS = 30_000;

/** The inspector closes from within, so that the next process can have its port. */
const CLOSE = "setTimeout(() => process.getBuiltinModule('node:inspector').close(), 10)";

/** Has Node processes collect their garbage, one at a time, over an inspector that is open for that moment only. */
export class GarbageCollector {
  readonly #port: number;

  private constructor(port: number) {
    this.#port = port;
  }

  static async create(): Promise<GarbageCollector> {
    return new GarbageCollector(await freePort());
  }

  /** Of the processes that are to be asked later. */
  get env(): Record<string, string> {
    return { NODE_OPTIONS: `--inspect-port=127.0.0.1:${this.#port}` };
  }

  /** Resolves to the megabytes of the heap that are in use thereafter. */
  async collect(pid: number): Promise<number> {
    process.kill(pid, 'SIGUSR1');
    const socket = new WebSocket(await this.#address());
    const limit = { signal: AbortSignal.timeout(TIMEOUT_MS) };
    await once(socket, 'open', limit);
    let id = 0;
    const ask = async (method: string, params: object = {}) => {
      const answer = once(socket, 'message', limit);
      socket.send(JSON.stringify({ id: ++id, method, params }));
      return JSON.parse((await answer)[0].data).result;
    };
    await ask('HeapProfiler.collectGarbage');
    const { usedSize } = await ask('Runtime.getHeapUsage');
    await ask('Runtime.evaluate', { expression: CLOSE });
    const closed = once(socket, 'close', limit);
    socket.close();
    await closed;
    await this.#untilClosed();
    return usedSize / 2 ** 20;
  }

  async #address(): Promise<string> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const [target] = (await this.#targets()) ?? [];
      if (target) return target.webSocketDebuggerUrl;
      await pause(EVERY_MS);
    }
    throw new Error('no inspector was opened');
  }

  async #untilClosed(): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (!(await this.#targets())) return;
      await pause(EVERY_MS);
    }
    throw new Error('an inspector stayed open');
  }

  async #targets(): Promise<{ webSocketDebuggerUrl: string }[] | undefined> {
    const response = await fetch(`http://127.0.0.1:${this.#port}/json/list`).catch(() => undefined);
    return response && ((await response.json()) as { webSocketDebuggerUrl: string }[]);
  }
}
