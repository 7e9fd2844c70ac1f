// Sends one body over some connections until it is killed: all of it is refused, so no limit ends
// it. Prints the status of each answer on a line, or 0 where the gateway closed the connection.
//
//   node bench/flood/bodies.mjs '{"url": "...", "key": "...", "shape": "nested", "bytes": 32000,
//     "connections": 8}'
//
// With `ratePerS` it sends no faster than that.
import { Pool } from 'undici';
import { SHAPES } from './shapes.mjs';

const { url, key, shape, bytes, connections, ratePerS } = JSON.parse(process.argv[2] ?? '{}');
const body = Buffer.from(SHAPES[shape](bytes));
const { origin, pathname } = new URL(`${url}/chat/completions`);
const pool = new Pool(origin, { connections, pipelining: 1 });
const startedMs = performance.now();
let sent = 0;

async function send() {
  const headers = { authorization: `Bearer ${key}` };
  try {
    const answer = await pool.request({ method: 'POST', path: pathname, headers, body });
    await answer.body.dump();
    return answer.statusCode;
  } catch {
    return 0;
  }
}

async function sendOn() {
  for (;;) {
    const dueMs = ratePerS ? startedMs + (sent++ / ratePerS) * 1000 : 0;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    process.stdout.write(`${await send()}\n`);
  }
}

await Promise.all(Array.from({ length: connections }, sendOn));
