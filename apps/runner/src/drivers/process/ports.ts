import { createServer } from 'node:net';
import { recordedPorts } from './state-file.ts';

/**
 * Below the ports that systems give to outgoing connections and the local stack to its services, so that one stays free until
 * its process listens.
 */
const FIRST = 10_000;
const LAST = 14_999;
const TRIES = 1_000;

/**
 * Ports of 127.0.0.1 for models' processes. One belongs to a process until its record is gone, however late it listens. All
 * others come before it is given again: two starts never get the same, and a gateway with an old catalog, which still calls a
 * model that has ended, meets nobody rather than another organization's.
 */
export class Ports {
  readonly #stateDir: string;
  #next: number;

  constructor(stateDir: string, random: () => number) {
    this.#stateDir = stateDir;
    this.#next = FIRST + Math.floor(random() * (LAST - FIRST + 1));
  }

  /** Rejects when none of many tried is free. */
  async take(): Promise<number> {
    const recorded = recordedPorts(this.#stateDir);
    for (let i = 0; i < TRIES; i++) {
      const port = this.#next;
      this.#next = port === LAST ? FIRST : port + 1;
      if (!recorded.has(port) && (await isFree(port))) return port;
    }
    throw new Error(`no free port among ${TRIES}`);
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
