// Holds streams open for some seconds and measures how long chunks take from the model to here.
// Prints one JSON document.
//
//   node bench/large-body/streams.mjs \
//     '{"url": "...", "key": "...", "streams": 32, "seconds": 5}'
import { Pool } from 'undici';

const { url, key, streams, seconds } = JSON.parse(process.argv[2] ?? '{}');
const { origin, pathname } = new URL(`${url}/chat/completions`);
const pool = new Pool(origin, { connections: streams, pipelining: 1 });
const STAMP = /"content":"(\d+) "/g;
/** Chunks in this first period do not count: connections and code are still cold. */
const WARM_UP_MS = 500;
const delaysMs = [];
const endMs = performance.now() + WARM_UP_MS + seconds * 1000;
const warmMs = performance.now() + WARM_UP_MS;

async function follow() {
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path: pathname,
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'tide', messages: [{ role: 'user', content: 'Hi' }], stream: true }),
  });
  if (statusCode !== 200) throw new Error(`a stream was answered with ${statusCode}: ${await body.text()}`);
  body.on('error', () => {});
  for await (const bytes of body) {
    const now = process.hrtime.bigint();
    const nowMs = performance.now();
    if (nowMs > endMs) break;
    if (nowMs < warmMs) continue;
    for (const [, stamp] of String(bytes).matchAll(STAMP)) delaysMs.push(Number(now - BigInt(stamp)) / 1e6);
  }
}

await Promise.all(Array.from({ length: streams }, follow));
delaysMs.sort((a, b) => a - b);
const at = (share) => delaysMs[Math.min(delaysMs.length - 1, Math.floor(delaysMs.length * share))] ?? 0;
process.stdout.write(
  `${JSON.stringify({ chunks: delaysMs.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) })}\n`,
);
await pool.destroy();
