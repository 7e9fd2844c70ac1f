// Load from a separate process: whole answers or streams over N connections, for some seconds.
// Prints one JSON document.
//
//   node bench/load.mjs '{"urls": ["..."], "headers": {}, "connections": 32, "seconds": 5,
//     "stream": false, "content": "..."}'
//
// With `keysFile`, a JSON array of keys, requests use the keys in turn.
import { readFileSync } from 'node:fs';
import { Pool } from 'undici';

const {
  urls,
  headers: own,
  keysFile,
  connections,
  seconds,
  stream,
  content,
  ratePerS,
} = JSON.parse(process.argv[2] ?? '{}');
const targets = urls.map((url) => {
  const { origin, pathname } = new URL(`${url}/chat/completions`);
  const options = { connections: Math.ceil(connections / urls.length), pipelining: 1 };
  return { pool: new Pool(origin, options), path: pathname };
});
const keys = keysFile ? JSON.parse(readFileSync(keysFile, 'utf8')) : [];
const body = JSON.stringify({
  model: 'tide',
  messages: [{ role: 'user', content }],
  ...(stream ? { stream: true, max_tokens: 8192 } : {}),
});
const common = { 'content-type': 'application/json', ...own };
const headersOf = keys.map((key) => ({ ...common, authorization: `Bearer ${key}` }));
let asked = 0;
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
    const { pool, path } = targets[asked % targets.length];
    const headers = headersOf[asked++ % headersOf.length] ?? common;
    const answer = await pool.request({ method: 'POST', path, headers, body });
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

/**
 * Requests begin on schedule, whether or not earlier ones have ended. Latency counts from the
 * scheduled time.
 */
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
await Promise.all(targets.map(({ pool }) => pool.close()));
