// Measures what screens of the console cost its server when an organization has 1,000 keys, 200
// models and most of 10 million requests of 35 days: the time from asking for a page, as a
// signed-in browser does, until its last byte arrives. Also the CPU time that it takes, which
// other work on the machine disturbs less.
//
//   node bench/console.mjs [--requests 10000000] [--keys 1000] [--models 200] [--rounds 30]
//
// Run npm run build first.
import { parseArgs } from 'node:util';
import { closeDb, createDb, ensureRequestPartitions } from '@tidegate/db';
import { ORG, seed } from './console/seed.mjs';
import { signIn, timesOf, WARM_UP } from './console/visit.mjs';
import { cpuUs } from './gateway/cpu.mjs';
import { lastDays } from './history.mjs';
import { startBench } from './stack.mjs';

const DAYS = 35;
const DAY_MS = 86_400_000;
/** Some of the statements that seed the database read all requests. */
const SEED_TIMEOUT_MS = 600_000;
const number = (fallback) => ({ type: 'string', default: String(fallback) });
const { values } = parseArgs({
  options: {
    requests: number(10_000_000),
    keys: number(1_000),
    models: number(200),
    rounds: number(30),
  },
});
const [requests, keys, models, rounds] = [values.requests, values.keys, values.models, values.rounds].map(
  Number,
);

const bench = await startBench({}, {}, { console: true, demo: true });
try {
  const { owner, console: site } = bench.stack.info;
  const days = lastDays(DAYS);
  await ensureRequestPartitions(bench.db, days);
  const patient = createDb(bench.stack.info.postgres, { statementTimeoutMs: SEED_TIMEOUT_MS });
  await seed(patient, days, { owner: owner.email, requests, keys, models }).finally(() => closeDb(patient));
  const [some] = await bench.db.$queryRawUnsafe(
    `SELECT reservation_id AS id, key_id AS key, model_id AS model FROM request
     WHERE org_id = $1 AND day = $2::date LIMIT 1`,
    ORG,
    days[20],
  );
  const at = (ago) => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 16);
  const deep = `before=${Date.now() - 30 * DAY_MS}-z`;
  const pages = {
    'usage, 30 days': 'usage',
    'usage, 7 days': 'usage?period=7d',
    'usage, 24 hours': 'usage?period=24h',
    'usage of a key': `usage?key=${some.key}`,
    'usage of a model': `usage?model=${some.model}`,
    requests: 'requests',
    'requests, page of 30 days ago': `requests?${deep}`,
    'requests of a key': `requests?key=${some.key}`,
    'requests of a model': `requests?model=${some.model}`,
    'requests of a model, page of 30 days ago': `requests?model=${some.model}&${deep}`,
    'requests that failed': 'requests?outcome=errors',
    'requests with an unknown code': 'requests?outcome=none_such',
    'requests of an hour': `requests?from=${at(20)}&to=${at(20 - 1 / 24)}`,
    'a request by its id': `requests?id=req_${some.id}`,
    'errors, 24 hours': 'requests/errors',
    'errors, 30 days': 'requests/errors?period=30d',
    keys: 'keys',
    models: 'api',
    'a key': `keys/${some.key}`,
    'a model': `api/${some.model}`,
    start: 'start',
  };
  const cookie = await signIn(site, owner);
  const cpuMs = () => ['console', 'postgres'].map((name) => cpuUs(bench.stack.pid(name)) / 1_000);
  const titles = ['p50 ms', 'p95 ms', 'kB', 'console CPU ms', 'Postgres CPU ms'];
  process.stdout.write(`${'page'.padEnd(42)}${titles.map((title) => title.padStart(17)).join('')}\n`);
  for (const [name, path] of Object.entries(pages)) {
    const before = cpuMs();
    const { p50, p95, bytes } = await timesOf(`${site}/o/bench-console/${path}`, cookie, rounds);
    const cells = [p50.toFixed(0), p95.toFixed(0), (bytes / 1_000).toFixed(0)];
    for (const [i, now] of cpuMs().entries()) cells.push(((now - before[i]) / (rounds + WARM_UP)).toFixed(0));
    process.stdout.write(`${name.padEnd(42)}${cells.map((cell) => cell.padStart(17)).join('')}\n`);
  }
} finally {
  await bench.stop();
}
