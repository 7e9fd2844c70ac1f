import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { EmbeddedError } from './errors.ts';

const HOST = '127.0.0.1';
/**
 * Below the range for outgoing connections. So a port stays free until its process listens, and
 * while the process restarts. For each port, another port is listened on to mark it as taken.
 */
const FIRST = 20_000;
const COUNT = 6_000;
const TRIES = 200;
/** Longer than any process takes to listen on its port. */
const HOLD_MS = 120_000;

/**
 * Hands out ports that nothing listens on. No port goes to two callers at once, even in different
 * processes.
 */
export class FreePorts {
  readonly #first: number;
  readonly #count: number;

  constructor(first: number, count: number) {
    this.#first = first;
    this.#count = count;
  }

  /**
   * Takes a port of 127.0.0.1. It is the caller's for two minutes, and for as long as something
   * listens on it.
   * @throws EmbeddedError when none is found
   */
  async take(): Promise<number> {
    for (let i = 0; i < TRIES; i++) {
      const port = randomInt(this.#first, this.#first + this.#count);
      const mark = await listen(port + this.#count);
      if (mark === null) continue;
      if (await isFree(port)) {
        setTimeout(() => mark.close(), HOLD_MS).unref();
        return port;
      }
      mark.close();
    }
    const last = this.#first + this.#count - 1;
    throw new EmbeddedError(`No free port was found between ${this.#first} and ${last}.`);
  }
}

const ports = new FreePorts(FIRST, COUNT);

/**
 * Takes a free port of 127.0.0.1 that no other caller on this machine gets.
 * @throws EmbeddedError
 */
export const freePort = (): Promise<number> => ports.take();

/** Whether nothing listens on a port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = await listen(port);
  if (server === null) return false;
  await new Promise((resolve) => server.close(resolve));
  return true;
}

/** Null: the port is taken. */
function listen(port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.once('error', () => resolve(null));
    server.listen({ host: HOST, port, exclusive: true }, () => resolve(server));
  });
}
