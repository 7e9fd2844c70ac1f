import { createServer } from 'node:net';
import { recordedPorts } from './state-file.ts';

/**
 * Below the systems' range for outgoing connections and the ports of the local stack's services. So
 * a port stays free until its process listens.
 */
const FIRST = 10_000;
const LAST = 14_999;
const TRIES = 1_000;

/**
 * Hands out ports of 127.0.0.1 to model processes. A port belongs to a process until its record
 * is removed, even if the process does not listen yet. It is used again only after all others. So
 * two starts never get the same port. And a gateway with an old catalog that calls a model that has
 * ended reaches nobody, rather than another organization's model.
 */
export class Ports {
  readonly #stateDir: string;
  #next: number;

  constructor(stateDir: string, random: () => number) {
    this.#stateDir = stateDir;
    this.#next = FIRST + Math.floor(random() * (LAST - FIRST + 1));
  }

  /** Rejects when many ports were tried and none is free. */
  async take(): Promise<number> {
    const recorded = recordedPorts(this.#stateDir);
    for (let i = 0; i < TRIES; i++) {
      const port = this.#next;
      this.#next = port === LAST ? FIRST : port + 1;
      if (!recorded.has(port) && (await isFree(port))) return port;
    }
    throw new Error(`none of the ${TRIES} ports tried is free`);
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
