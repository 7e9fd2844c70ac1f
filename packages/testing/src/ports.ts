import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the range from which systems number outgoing connections, so that a port stays free between a stop and a start. */
const LOWEST = 15_000;
const END = 32_000;
const ATTEMPTS = 100;

/** A port of 127.0.0.1 that nothing listens on. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = randomInt(LOWEST, END);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port found in ${ATTEMPTS} attempts`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
