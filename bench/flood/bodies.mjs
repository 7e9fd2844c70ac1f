// Sends one body again and again over some connections, from when it is told to begin until it is
// told to stop. Every one is refused, so no limit ends it. Over the channel to its parent it takes
// { body: { shape, bytes }, ratePerS } to begin, and 'stop'. Then it waits for the answers that are
// due and counts them all by status. Without `ratePerS` it sends as fast as it gets answers.
// Arguments: URL, key, connections.
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { SHAPES } from './shapes.mjs';

// In reality a caller has a machine of its own. Linux may share the CPU among sessions first, and
// within each session among its threads. This process leads its own session. To give way to the
// services, it lowers its own priority and its session's.
setPriority(19);
try {
  writeFileSync('/proc/self/autogroup', '19');
} catch {
  // This system does not schedule by session.
}
const [url, key, connections] = process.argv.slice(2);
const { origin, pathname } = new URL(`${url}/chat/completions`);
const pool = new Pool(origin, { connections: Number(connections), pipelining: 1 });
const headers = { authorization: `Bearer ${key}` };
let sending = { stopped: new AbortController(), callers: [] };

/** The status, or 0 where the gateway closed the connection. */
async function send(body) {
  try {
    const answer = await pool.request({ method: 'POST', path: pathname, headers, body });
    await answer.body.dump();
    return answer.statusCode;
  } catch {
    return 0;
  }
}

/** The requests' times by the schedule. The first is due immediately. */
function* dueTimes(ratePerS) {
  const startedMs = performance.now();
  for (let sent = 0; ; sent++) yield ratePerS ? startedMs + (sent / ratePerS) * 1000 : startedMs;
}

function begin({ body: { shape, bytes }, ratePerS }) {
  const body = Buffer.from(SHAPES[shape](bytes));
  const due = dueTimes(ratePerS);
  const stopped = new AbortController();
  const self = { stopped, statuses: {}, callers: [] };
  const call = async () => {
    for (;;) {
      const waitMs = Math.max(0, due.next().value - performance.now());
      if (waitMs > 0) await sleep(waitMs, null, { signal: stopped.signal }).catch(() => {});
      if (stopped.signal.aborted) return;
      const status = await send(body);
      self.statuses[status] = (self.statuses[status] ?? 0) + 1;
    }
  };
  self.callers = Array.from({ length: Number(connections) }, call);
  sending = self;
}

async function stop() {
  sending.stopped.abort();
  await Promise.all(sending.callers);
  process.send({ statuses: sending.statuses });
}

process.on('message', (message) => (message === 'stop' ? stop() : begin(message)));
process.on('disconnect', () => process.exit());
process.send('ready');
