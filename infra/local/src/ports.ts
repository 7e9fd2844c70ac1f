import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { StackError } from './errors.ts';

const HOST = '127.0.0.1';
/** Below the ports that systems give to outgoing connections, so that a port stays ours between two processes. */
const FIRST = 20_000;
const LAST = 31_999;
const TRIES = 200;
const HIGHEST = 65_535;

const given = new Set<number>();

/** A port of 127.0.0.1 that nothing listens on, never given twice by this process. */
export async function choosePort(): Promise<number> {
  for (let i = 0; i < TRIES; i++) {
    const port = randomInt(FIRST, LAST + 1);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new StackError(`No free port between ${FIRST} and ${LAST}.`);
}

/** @throws StackError naming the option that changes the port, when something listens on it */
export async function claimPort(port: number, what: string, option: string): Promise<number> {
  if (port > HIGHEST)
    throw new StackError(`${what} would listen on port ${port}: the highest is ${HIGHEST}.`);
  if (await isFree(port)) return port;
  throw new StackError(`Port ${port} is taken: ${what} cannot listen on it.`, {
    hint: `Choose another one: npm start -- ${option} ${port + 10}`,
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: HOST, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
