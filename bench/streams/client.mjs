// Opens streams evenly over some seconds and reads each to its end. Prints one JSON document: the
// time from the request to the first chunk, the time of later chunks from the model to here, and
// the number of incomplete streams.
//
//   node bench/streams/client.mjs \
//     '{"url": "...", "key": "...", "streams": 600, "chunks": 100, "openMs": 3000}'
import { Pool } from 'undici';

const { url, key, streams, chunks, openMs } = JSON.parse(process.argv[2] ?? '{}');
const { origin, pathname } = new URL(`${url}/chat/completions`);
const pool = new Pool(origin, { connections: streams, pipelining: 1 });
const STAMP = /"content":"(\d+) "/g;
const body = JSON.stringify({ model: 'tide', messages: [{ role: 'user', content: 'Hi' }], stream: true });
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const firstMs = [];
const delaysMs = [];
let truncated = 0;

/** The network may split a chunk in two. The first part is kept until the rest arrives. */
async function follow() {
  const startedMs = performance.now();
  const answer = await pool.request({ method: 'POST', path: pathname, headers, body });
  let rest = '';
  let seen = 0;
  for await (const bytes of answer.body) {
    const now = process.hrtime.bigint();
    const events = (rest + bytes).split('\n\n');
    rest = events.pop() ?? '';
    for (const [, stamp] of events.join().matchAll(STAMP)) {
      if (seen++ === 0) firstMs.push(performance.now() - startedMs);
      else delaysMs.push(Number(now - BigInt(stamp)) / 1e6);
    }
    if (events.at(-1) === 'data: [DONE]' && seen === chunks) return;
  }
  truncated++;
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
await Promise.all(
  Array.from({ length: streams }, async (_, i) => {
    await wait((i / streams) * openMs);
    await follow().catch(() => truncated++);
  }),
);
const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
for (const values of [firstMs, delaysMs]) values.sort((a, b) => a - b);
process.stdout.write(
  `${JSON.stringify({
    firstP50Ms: at(firstMs, 0.5),
    firstP99Ms: at(firstMs, 0.99),
    delayP50Ms: at(delaysMs, 0.5),
    delayP99Ms: at(delaysMs, 0.99),
    delayMaxMs: at(delaysMs, 1),
    truncated,
  })}\n`,
);
await pool.destroy();
