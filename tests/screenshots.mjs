// npm run screenshots: starts a stack with a month of invented usage and writes
// docs/screenshots/*.png.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { closeDb, createDb, ensureRequestPartitions } from '@tidegate/db';
import { findChromium } from '@tidegate/embedded';
import { startStack } from '@tidegate/local';
import { chromium } from 'playwright-core';

const ROOT = resolve(import.meta.dirname, '..');
const OUT = join(ROOT, 'docs/screenshots');
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const DAYS = 30;
/**
 * How some of every 29 requests end.
 * @type {Readonly<Record<number, string>>}
 */
const FAILED = { 4: 'upstream_error', 11: 'model_unavailable', 17: 'upstream_error', 23: 'client_closed' };
/**
 * Codes and causes of refusals, and how many there are in the worst hour.
 * @type {readonly [string, string, number][]}
 */
const REFUSED = [
  ['rate_limit_exceeded', 'key_requests_per_minute', 140],
  ['rate_limit_exceeded', 'key_requests_at_once', 35],
  ['model_not_found', '', 6],
];
/** Nothing listens there. */
const NO_SERVER = 'http://127.0.0.1:1/v1';
const WIDE = { width: 1280, height: 860 };
const TALL = { width: 1280, height: 1180 };
const NARROW = { width: 390, height: 844 };
const SHOTS = [
  { name: 'keys', path: '/o/demo/keys', viewport: WIDE, colorScheme: 'light' },
  { name: 'usage', path: '/o/demo/usage', viewport: { width: 1280, height: 1180 }, colorScheme: 'light' },
  { name: 'usage-dark', path: '/o/demo/usage', viewport: { width: 1280, height: 1180 }, colorScheme: 'dark' },
  { name: 'api', path: '/o/demo/api', viewport: WIDE, colorScheme: 'light' },
  { name: 'model', path: '/o/demo/api', viewport: TALL, colorScheme: 'light', act: open('demo-text') },
  { name: 'key', path: '/o/demo/keys', viewport: WIDE, colorScheme: 'light', act: open('Support assistant') },
  { name: 'try', path: '/o/demo/try', viewport: WIDE, colorScheme: 'dark', act: chat },
  { name: 'plan', path: '/o/demo/plan', viewport: WIDE, colorScheme: 'light' },
  { name: 'requests', path: '/o/demo/requests', viewport: WIDE, colorScheme: 'light' },
  { name: 'errors', path: '/o/demo/requests/errors', viewport: TALL, colorScheme: 'light' },
  { name: 'start', path: '/o/new-lab/start', viewport: WIDE, colorScheme: 'light' },
  { name: 'usage-phone', path: '/o/demo/usage', viewport: NARROW, colorScheme: 'dark' },
];

/** @type {import('@tidegate/local').Stack | undefined} */
let stack;
/** @type {import('playwright-core').Browser | undefined} */
let browser;
const dataDir = mkdtempSync(join(tmpdir(), 'tidegate-screenshots-'));
try {
  stack = await startStack({ dataDir, ports: 'random' });
  makeKeys(stack);
  await makeUsage(stack.info.postgres);
  await makeRequests(stack.info.postgres);
  await makeReplicas(stack);
  browser = await chromium.launch({
    executablePath: await findChromium(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  mkdirSync(OUT, { recursive: true });
  for (const shot of SHOTS) await take(browser, stack, shot);
} finally {
  await browser?.close();
  await stack?.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

/** @param {import('@tidegate/local').Stack} of @param {string[]} args */
function ctlOf({ dataDir: data }, ...args) {
  const env = { ...process.env, ...JSON.parse(readFileSync(join(data, 'env.json'), 'utf8')) };
  const main = join(ROOT, 'apps/ctl/dist/main.js');
  return JSON.parse(execFileSync(process.execPath, [main, ...args, '--json'], { env }).toString());
}

/** @param {import('@tidegate/local').Stack} of */
function makeKeys(of) {
  const ctl = (/** @type {string[]} */ ...args) => ctlOf(of, ...args);
  const create = (/** @type {string} */ name, /** @type {string[]} */ ...more) =>
    ctl('key', 'create', '--org', 'demo', '--name', name, ...more);
  create('Support assistant', '--rpm', '600', '--at-once', '32');
  create(
    'Nightly reports',
    '--models',
    'demo-text',
    '--expires-on',
    `${new Date().getUTCFullYear() + 1}-03-31`,
  );
  create('Image captions', '--models', 'demo-vision');
  ctl('key', 'revoke', '--id', create('Old laptop').id);
  ctl('org', 'create', '--name', 'New lab');
  ctl('member', 'add', '--org', 'new-lab', '--email', of.info.owner?.email ?? '', '--role', 'owner');
}

/**
 * A model of two servers, one of which does not answer. It comes last: it has no usage.
 *
 * @param {import('@tidegate/local').Stack} of
 */
async function makeReplicas(of) {
  const db = createDb(of.info.postgres, { maxConnections: 1 });
  const { settings } = await db.model.findFirstOrThrow({ where: { name: 'demo-text' } });
  await closeDb(db);
  const [url] = /** @type {any} */ (settings).urls;
  const server = ['--url', `${url},${NO_SERVER}`, '--upstream-model', 'demo-text'];
  const model = ['--name', 'demo-twin', '--kind', 'text', '--mode', 'always_on', '--context', '8192'];
  ctlOf(of, 'model', 'publish', '--org', 'demo', ...model, ...server);
  const isUp = () =>
    ctlOf(of, 'model', 'list', '--org', 'demo').some(
      (/** @type {any} */ { name, replicas }) => name === 'demo-twin' && replicas?.up === 1,
    );
  while (!isUp()) await new Promise((resolve) => setTimeout(resolve, 500));
}

/** @param {string} url of Postgres */
async function makeUsage(url) {
  const db = createDb(url, { maxConnections: 2 });
  try {
    const org = await db.org.findUniqueOrThrow({ where: { slug: 'demo' } });
    const models = await db.model.findMany({ where: { orgId: org.id }, orderBy: { name: 'asc' } });
    const keys = await db.apiKey.findMany({ where: { orgId: org.id }, orderBy: { createdAt: 'asc' } });
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const used = keys.filter(({ name }) => name !== 'Local stack');
    const pairs = used.flatMap((key, k) =>
      models.map((model, m) => ({ key, model, weight: 900 / (k + 1) / (m + 1) })),
    );
    const rows = Array.from({ length: DAYS }, (_, d) => new Date(today - d * DAY_MS)).flatMap((day, d) =>
      pairs.map(({ key, model, weight }, i) =>
        usageOf(org.id, key.id, model.id, day, weight * wave(day, d, i)),
      ),
    );
    await db.usageDay.createMany({ data: rows, skipDuplicates: true });
    await makeMonth(db, rows);
    for (const { id, weight } of models.map((model, m) => ({ id: model.id, weight: 40 / (m + 1) })))
      for (let d = 0; d < DAYS; d++) await makeTimes(db, org.id, id, new Date(today - d * DAY_MS), weight);
    const lastUsedAt = new Date(Date.now() - 40_000);
    await db.apiKey.updateMany({ where: { orgId: org.id, revokedAt: null }, data: { lastUsedAt } });
  } finally {
    await closeDb(db);
  }
}

/**
 * What the plan counts for these days. The limiter reads it before the month's first request.
 *
 * @param {import('@tidegate/db').Db} db @param {ReturnType<typeof usageOf>[]} rows
 */
async function makeMonth(db, rows) {
  const month = new Date().toISOString().slice(0, 7);
  const counted = rows.filter(({ day }) => day.toISOString().startsWith(month));
  const sum = (/** @type {(row: typeof rows[number]) => bigint} */ of) =>
    counted.reduce((total, row) => total + of(row), 0n);
  await db.monthTotal.create({
    data: {
      orgId: rows[0]?.orgId ?? '',
      month,
      requests: sum(({ requests }) => requests),
      chargedTokens: sum((row) => row.promptTokens + row.completionTokens + row.unreportedTokens),
    },
  });
}

/**
 * How long a model's requests of a day took: most of them a second, a few much longer.
 *
 * @param {import('@tidegate/db').Db} db @param {string} orgId @param {string} modelId
 * @param {Date} day @param {number} count
 */
async function makeTimes(db, orgId, modelId, day, count) {
  await db.$executeRaw`
    INSERT INTO usage_time
    SELECT ${orgId}, 'day', ${day}, ${modelId},
      sum(histogram_of((520 * exp(i * i / (${count}::float8 * ${count}::float8) * 1.6))::integer)),
      sum(histogram_of((95 * exp(i / ${count}::float8 * 1.1))::integer))
    FROM generate_series(0, ceil(${count}::float8)::integer) i ON CONFLICT DO NOTHING`;
}

/**
 * A day of requests, with what made some of them fail, and with refusals of the busiest hours.
 *
 * @param {string} url of Postgres
 */
async function makeRequests(url) {
  const db = createDb(url, { maxConnections: 2 });
  try {
    const org = await db.org.findUniqueOrThrow({ where: { slug: 'demo' } });
    const [models, keys] = await Promise.all([
      db.model.findMany({ where: { orgId: org.id }, orderBy: { name: 'asc' } }),
      db.apiKey.findMany({
        where: { orgId: org.id, revokedAt: null, name: { not: 'Local stack' } },
        orderBy: { createdAt: 'asc' },
      }),
    ]);
    const now = Date.now();
    const rows = Array.from({ length: 320 }, (_, i) => {
      const [key, model] = [keys[(i % 7) % keys.length], models[(i % 5) % models.length]];
      if (!key || !model) throw new Error('the demo has no keys or models');
      return requestOf(i, now - i * 265_000, { orgId: org.id, keyId: key.id, modelId: model.id });
    });
    await ensureRequestPartitions(db, new Set(rows.map(({ day }) => day.toISOString().slice(0, 10))));
    await db.request.createMany({ data: rows });
    const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
    const refusals = Array.from({ length: 24 }, (_, h) => h).flatMap((h) =>
      REFUSED.map(([code, cause, most], i) => ({
        orgId: org.id,
        keyId: keys[i % keys.length]?.id ?? '',
        modelId: models[0]?.id ?? '',
        hour: new Date(hour - h * HOUR_MS),
        code,
        cause,
        refusals: BigInt(Math.round(most * Math.abs(Math.sin(h * 0.7 + i)) ** 3)),
      })),
    );
    await db.refusalHour.createMany({ data: refusals.filter(({ refusals: count }) => count > 0n) });
  } finally {
    await closeDb(db);
  }
}

/**
 * @param {number} i how many came after it
 * @param {number} atMs
 * @param {{ orgId: string, keyId: string, modelId: string }} of
 */
function requestOf(i, atMs, of) {
  const failed = FAILED[i % 29];
  const tokens = { prompt: 120 + ((i * 397) % 1_900), completion: 40 + ((i * 173) % 610) };
  return {
    ...of,
    reservationId: createHash('sha256').update(String(i)).digest('base64url').slice(0, 24),
    day: new Date(Math.floor(atMs / DAY_MS) * DAY_MS),
    reservedAt: new Date(atMs),
    answered: !failed,
    errorCode: failed ?? null,
    streamed: i % 3 !== 0,
    promptTokens: failed ? null : tokens.prompt,
    completionTokens: failed ? null : tokens.completion,
    reservedTokens: 4_096,
    chargedTokens: failed ? 4_096 : tokens.prompt + tokens.completion,
    durationMs: 310 + tokens.completion * 9,
    firstChunkMs: i % 3 !== 0 && !failed ? 120 + ((i * 31) % 260) : null,
  };
}

/**
 * Lower on weekends, and different each day. Not random, so that pictures change only with the
 * console.
 */
function wave(/** @type {Date} */ day, /** @type {number} */ d, /** @type {number} */ i) {
  const weekend = [0, 6].includes(day.getUTCDay()) ? 0.35 : 1;
  return weekend * (0.7 + 0.5 * Math.abs(Math.sin(d * 1.7 + i)));
}

/**
 * @param {string} orgId @param {string} keyId @param {string} modelId
 * @param {Date} day @param {number} count
 */
function usageOf(orgId, keyId, modelId, day, count) {
  const requests = Math.round(count);
  const errors = Math.round(requests * 0.015);
  return {
    orgId,
    keyId,
    modelId,
    day,
    requests: BigInt(requests),
    errors: BigInt(errors),
    promptTokens: BigInt(requests * 412),
    completionTokens: BigInt(requests * 187),
    unreportedTokens: BigInt(errors * 4_096),
    durationMsSum: BigInt(requests * 843),
    durationCount: BigInt(requests),
  };
}

/** @param {import('playwright-core').Page} page */
async function chat(page) {
  await page.getByLabel('Message', { exact: true }).fill('Why do tides come twice a day?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText(/tokens out/).waitFor();
}

/**
 * Opens the page behind a link.
 *
 * @param {string} name
 */
function open(name) {
  return async (/** @type {import('playwright-core').Page} */ page) => {
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.waitForLoadState('networkidle');
  };
}

/**
 * @param {import('playwright-core').Browser} by
 * @param {import('@tidegate/local').Stack} of
 * @param {typeof SHOTS[number]} shot
 */
async function take(by, of, { name, path, viewport, colorScheme, act }) {
  const site = of.info.console;
  const owner = of.info.owner;
  if (!site || !owner) throw new Error('the stack has no console');
  const context = await by.newContext({
    viewport,
    colorScheme: colorScheme === 'dark' ? 'dark' : 'light',
    deviceScaleFactor: 1.5,
  });
  const page = await context.newPage();
  await page.goto(`${site}/sign-in`);
  await page.getByLabel('E-mail').fill(owner.email);
  await page.getByLabel('Password').fill(owner.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(/\/o\//);
  await page.goto(`${site}${path}`, { waitUntil: 'networkidle' });
  await act?.(page, of);
  // Where it clicked last, the mouse may be on a chart, which would show the day under it.
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(OUT, `${name}.png`) });
  await context.close();
}
