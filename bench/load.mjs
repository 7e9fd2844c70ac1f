// Load from a process of its own: whole answers or streams over N connections, for some seconds. Prints one JSON document.
// node bench/load.mjs '{"url": "...", "headers": {}, "connections": 32, "seconds": 5, "stream": false, "content": "..."}'
import { Pool } from 'undici';

const {
  url,
  headers: own,
  connections,
  seconds,
  stream,
  content,
  ratePerS,
} = JSON.parse(process.argv[2] ?? '{}');
const { origin, pathname } = new URL(`${url}/chat/completions`);
const pool = new Pool(origin, { connections, pipelining: 1 });
const body = JSON.stringify({
  model: 'tide',
  messages: [{ role: 'user', content }],
  ...(stream ? { stream: true, max_tokens: 8192 } : {}),
});
const headers = { 'content-type': 'application/json', ...own };
const latenciesMs = [];
let failures = 0;
let chunks = 0;
const EVENT = Buffer.from('\n\n');

function countEvents(bytes) {
  let count = 0;
  for (let at = bytes.indexOf(EVENT); at !== -1; at = bytes.indexOf(EVENT, at + 2)) count++;
  return count;
}

async function once(startedMs) {
  try {
    const answer = await pool.request({ method: 'POST', path: pathname, headers, body });
    if (stream) for await (const bytes of answer.body) chunks += countEvents(bytes);
    else await answer.body.arrayBuffer();
    if (answer.statusCode !== 200) failures++;
  } catch {
    failures++;
  }
  latenciesMs.push(performance.now() - startedMs);
}

async function closedLoop(endMs) {
  const caller = async () => {
    while (performance.now() < endMs) await once(performance.now());
  };
  await Promise.all(Array.from({ length: connections }, caller));
}

/** Requests begin on schedule, whether or not earlier ones have ended; latency counts from the schedule. */
async function openLoop(endMs) {
  const open = [];
  for (let dueMs = performance.now(); dueMs < endMs; dueMs += 1000 / ratePerS) {
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    open.push(once(dueMs));
  }
  await Promise.all(open);
}

const startedMs = performance.now();
await (ratePerS ? openLoop : closedLoop)(startedMs + seconds * 1000);
const tookS = (performance.now() - startedMs) / 1000;
latenciesMs.sort((a, b) => a - b);
const at = (share) =>
  latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * share))] ?? 0;
process.stdout.write(
  `${JSON.stringify({
    requests: latenciesMs.length,
    perS: latenciesMs.length / tookS,
    chunksPerS: chunks / tookS,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    failures,
  })}\n`,
);
await pool.close();
