// The other organization: for each { seconds, ratePerS } that it is sent over the channel to its
// parent, it sends requests on schedule, whether or not earlier ones have ended, and answers with
// the p99 of their latencies and the failures. One process for all rounds, because a new one is
// slow at first. Arguments: URL, key, connections.
import { Pool } from 'undici';

const [url, key, connections] = process.argv.slice(2);
const { origin, pathname } = new URL(`${url}/chat/completions`);
const pool = new Pool(origin, { connections: Number(connections), pipelining: 1 });
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const body = JSON.stringify({ model: 'tide', messages: [{ role: 'user', content: 'Hi' }] });

/** Latency counts from the scheduled time. Infinite: it failed. */
async function once(dueMs) {
  try {
    const answer = await pool.request({ method: 'POST', path: pathname, headers, body });
    await answer.body.dump();
    if (answer.statusCode !== 200) return Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
  return performance.now() - dueMs;
}

async function measure({ seconds, ratePerS }) {
  const open = [];
  const startMs = performance.now();
  for (let i = 0; i < seconds * ratePerS; i++) {
    const dueMs = startMs + (i / ratePerS) * 1000;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    open.push(once(dueMs));
  }
  const latenciesMs = (await Promise.all(open)).sort((a, b) => a - b);
  const failures = latenciesMs.filter((ms) => ms === Number.POSITIVE_INFINITY).length;
  // Of those that did not fail. Any failure fails the bench.
  const answered = latenciesMs.length - failures;
  process.send({ p99Ms: latenciesMs[Math.ceil(answered * 0.99) - 1] ?? 0, failures });
}

process.on('message', measure);
process.on('disconnect', () => process.exit());
process.send('ready');
