// What the usage panel costs the server when an organization has many requests behind it: rows and rollups of 30 days in a real
// Postgres, then the panel's own query, through packages/control.
//
//   node bench/usage.mjs [requests] [keys] [models]      (after npm run build)
//
// Prints one JSON document.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createControl } from '@tidegate/control';
import { closeDb, createDb, ensureRequestPartitions, migrate } from '@tidegate/db';
import { startPostgres } from '@tidegate/embedded';
import { dayOf } from '@tidegate/limits';
import { freePort } from '@tidegate/testing';

const requests = Number(process.argv[2] ?? 10_000_000);
const keys = Number(process.argv[3] ?? 50);
const models = Number(process.argv[4] ?? 20);
const DAYS = 30;
const ROUNDS = 50;
const DAY_MS = 86_400_000;
const away = () => Promise.reject(new Error('not in this bench'));

const dir = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
// Seeding need not survive a crash.
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
  const nowMs = Date.now();
  const days = Array.from({ length: DAYS }, (_, i) => dayOf(nowMs - i * DAY_MS));
  await ensureRequestPartitions(db, days);
  const seedStartedMs = performance.now();
  const perDay = Math.ceil(requests / DAYS);
  for (const day of days) await seedDay(org, day, perDay);
  await db.$executeRawUnsafe(`INSERT INTO usage_day
    SELECT org_id, day, key_id, model_id, count(*), count(*) FILTER (WHERE NOT answered), sum(coalesce(prompt_tokens, 0)),
      sum(coalesce(completion_tokens, 0)), sum(CASE WHEN prompt_tokens IS NULL THEN charged_tokens ELSE 0 END),
      sum(duration_ms), count(duration_ms) FROM request GROUP BY 1, 2, 3, 4`);
  await db.$executeRawUnsafe('ANALYZE');
  const seedS = (performance.now() - seedStartedMs) / 1000;

  const tookMs = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const startedMs = performance.now();
    const usage = await control.showUsage(operator, { org });
    if (!usage.ok || usage.value.totals.requests !== perDay * DAYS)
      throw new Error('the usage does not add up');
    // The first one plans the queries.
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

async function seedDay(org, day, count) {
  await db.$executeRawUnsafe(
    `INSERT INTO request (reservation_id, day, org_id, key_id, model_id, admitted_at, answered, error_code, streamed,
       prompt_tokens, completion_tokens, reserved_tokens, charged_tokens, duration_ms)
     SELECT lpad(i::text, 24, '0'), $1::date, $2, 'key_' || i % ${keys}, 'mdl_' || (i / ${keys}) % ${models}, $1::timestamptz,
       i % 50 <> 0, CASE WHEN i % 50 = 0 THEN 'upstream_error' END, i % 2 = 0,
       CASE WHEN i % 50 <> 0 THEN 900 END, CASE WHEN i % 50 <> 0 THEN 120 END, 8192,
       CASE WHEN i % 50 = 0 THEN 8192 ELSE 1020 END, 1500
     FROM generate_series(1, $3::int) i`,
    day,
    org,
    count,
  );
}
