import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { EmbeddedError } from './errors.ts';

const HOST = '127.0.0.1';
/**
 * Below the ports that systems number outgoing connections from, so that a port stays free until its process listens, and between two of
 * its lives. Each has another one beside it that says it is given.
 */
const FIRST = 20_000;
const COUNT = 6_000;
const TRIES = 200;
/** Longer than whatever was given a port takes to listen on it. */
const HOLD_MS = 120_000;

/** Gives ports that nothing listens on, and none of them to two at once, whether they ask the same process or not. */
export class FreePorts {
  readonly #first: number;
  readonly #count: number;

  constructor(first: number, count: number) {
    this.#first = first;
    this.#count = count;
  }

  /** A port of 127.0.0.1, the taker's for two minutes, and for as long as something listens on it. @throws EmbeddedError when none is found */
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

/** A port of 127.0.0.1 that is free, and given to nobody else on this machine who asks for one here. @throws EmbeddedError */
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
