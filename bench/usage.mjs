// Measures what the usage panel costs the server when an organization has many requests. Writes
// rows and rollups of 30 days into a real Postgres, then runs the panel's own query through
// packages/control.
//
//   node bench/usage.mjs [requests] [keys] [models]
//
// Run npm run build first. Prints one JSON document.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createControl } from '@tidegate/control';
import { closeDb, createDb, ensureRequestPartitions, migrate } from '@tidegate/db';
import { startPostgres } from '@tidegate/embedded';
import { freePort } from '@tidegate/testing';
import { lastDays, seedDay, seedRollups } from './history.mjs';

const requests = Number(process.argv[2] ?? 10_000_000);
const keys = Number(process.argv[3] ?? 50);
const models = Number(process.argv[4] ?? 20);
const DAYS = 30;
const ROUNDS = 50;
const away = () => Promise.reject(new Error('not in this bench'));

const dir = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
// The seeded data need not survive a crash.
const postgres = await startPostgres({
  dataDir: join(dir, 'postgres'),
  port: await freePort(),
  settings: { fsync: 'off', max_wal_size: '8GB' },
});
await migrate(postgres.url);
const db = createDb(postgres.url);
const operator = { kind: 'operator' };
const control = createControl({
  db,
  limiter: { refreshOrgs: async () => {}, revokeKey: away, month: away },
  runner: { refresh: away, start: away, stop: away, inFlight: away },
  secretKey: Buffer.alloc(32),
  now: Date.now,
});

try {
  const created = await control.createOrg(operator, { name: 'Bench', plan: 'Pro' });
  const org = created.value.id;
  const days = lastDays(DAYS);
  await ensureRequestPartitions(db, days);
  const seedStartedMs = performance.now();
  const perDay = Math.ceil(requests / DAYS);
  for (const day of days) await seedDay(db, day, { orgId: org, count: perDay, keys, models });
  await seedRollups(db);
  const seedS = (performance.now() - seedStartedMs) / 1000;

  const tookMs = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const startedMs = performance.now();
    const usage = await control.showUsage(operator, { org });
    if (!usage.ok || usage.value.totals.requests !== perDay * DAYS)
      throw new Error('the usage does not add up');
    // The first run plans the queries.
    if (round > 0) tookMs.push(performance.now() - startedMs);
  }
  tookMs.sort((a, b) => a - b);
  const [{ rows }] = await db.$queryRawUnsafe('SELECT count(*)::int AS rows FROM usage_day');
  const at = (share) => Math.round((tookMs[Math.floor((tookMs.length - 1) * share)] ?? 0) * 10) / 10;
  const result = { requests: perDay * DAYS, keys, models, rollupRows: rows, seedS: Math.round(seedS) };
  process.stdout.write(`${JSON.stringify({ ...result, p50Ms: at(0.5), p95Ms: at(0.95), maxMs: at(1) })}\n`);
} finally {
  await closeDb(db);
  await postgres.stop();
  await rm(dir, { recursive: true, force: true });
}
