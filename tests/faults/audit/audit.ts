import type { Seen } from '../load/ask.ts';
import { PROMPT_TOKENS } from '../world/witness.ts';
import type { World } from '../world/world.ts';
import { readLive } from './live.ts';
import { type Row, readDays, readMonths, readRows, totalsOf } from './rows.ts';

/** Reservations that may never have reached the model: whoever was to call it died, lost its lease, or its client was gone. */
const MAY_NOT_HAVE_CALLED = new Set(['gateway_lost', 'lease_lost', 'client_closed']);
const WINDOW_MS = 60_000;

/** A gateway waits a second for a settlement's acknowledgement, and sends it again for as long as its lease lasts. */
const SETTLING_MS = 10_000;

export interface AuditOptions {
  /** Gateways stood still: what they had answered may be an error here, for the limiter had not heard of it in time. */
  readonly gatewaysPaused?: boolean;
}

export interface Audit {
  readonly violations: string[];
  /** For the reader of a run: what was compared. */
  readonly counts: Readonly<Record<string, number>>;
}

/**
 * Holds the counts of everybody involved against each other, once all is quiet. See README.md for which of these are
 * equalities, which are bounds, and why.
 */
export async function audit(world: World, seen: readonly Seen[], options: AuditOptions = {}): Promise<Audit> {
  const violations: string[] = [];
  const must = (holds: boolean, text: () => string) => void (holds || violations.push(text()));
  const rows = await readRows(world);
  checkRows(rows, must);
  await checkRollups(world, rows, must);
  await checkLedgers(world, rows, must);
  checkCalls(world, rows, must);
  checkClients(world, rows, seen, options, must);
  checkWindows(world, rows, must);
  violations.push(...world.witness.violations);
  return {
    violations,
    counts: {
      requests: seen.length,
      calls: world.witness.calls.length,
      rows: rows.length,
      answered: rows.filter(({ answered }) => answered).length,
      lost: rows.filter(({ errorCode }) => errorCode === 'gateway_lost').length,
      hungUp: rows.filter(({ errorCode }) => errorCode === 'client_closed').length,
    },
  };
}

type Must = (holds: boolean, text: () => string) => void;

function checkRows(rows: readonly Row[], must: Must): void {
  const ids = new Set(rows.map(({ id }) => id));
  must(ids.size === rows.length, () => `${rows.length - ids.size} duplicate rows`);
  for (const row of rows) {
    const used = row.prompt === null ? null : row.prompt + (row.completion ?? 0);
    must(row.charged === (used ?? row.reserved), () => `${row.id}: charged ${row.charged}, used ${used}`);
    must(row.answered || used === null, () => `${row.id}: an error with usage`);
  }
}

async function checkRollups(world: World, rows: readonly Row[], must: Must): Promise<void> {
  const expected = totalsOf(rows);
  const days = await readDays(world);
  must(days.length === expected.size, () => `${days.length} day rollups, ${expected.size} expected`);
  for (const day of days) {
    const fromRows = JSON.stringify(expected.get(`${day.org} ${day.key} ${day.model}`));
    must(fromRows === JSON.stringify(day), () => `day rollup ${JSON.stringify(day)}, rows ${fromRows}`);
  }
}

async function checkLedgers(world: World, rows: readonly Row[], must: Must): Promise<void> {
  const months = new Map((await readMonths(world)).map((month) => [month.org, month]));
  for (const org of world.orgs) {
    const ofOrg = rows.filter((row) => row.org === org.id);
    const charged = ofOrg.reduce((sum, row) => sum + row.charged, 0);
    const month = months.get(org.id) ?? { requests: 0, charged: 0 };
    const live = await readLive(world, org);
    const tell = (name: string, counts: { requests: number; charged: number }) => () =>
      `${org.slug}: ${name} ${counts.requests} requests and ${counts.charged} tokens, rows ${ofOrg.length} and ${charged}`;
    must(month.requests === ofOrg.length && month.charged === charged, tell('month total', month));
    must(live.requests === ofOrg.length && live.charged === charged, tell('ledger', live));
    must(ofOrg.length <= org.requestsMonth, tell('over the requests of the month', live));
    must(charged <= org.tokensMonth, tell('over the tokens of the month', live));
  }
}

/** The model's own count, per key and model. */
function checkCalls(world: World, rows: readonly Row[], must: Must): void {
  const tags = new Set<string>();
  const calls = new Map<string, number>();
  for (const { order, model } of world.witness.calls) {
    must(!tags.has(order.tag), () => `${order.tag}: called twice`);
    tags.add(order.tag);
    const org = world.orgs.find(({ id }) => id === order.org);
    const name = `${order.org} ${order.key} ${org?.models.get(model)}`;
    calls.set(name, (calls.get(name) ?? 0) + 1);
  }
  const names = new Set([...calls.keys(), ...totalsOf(rows).keys()]);
  for (const name of names) {
    const ofName = rows.filter((row) => `${row.org} ${row.key} ${row.model}` === name);
    const excusable = ofName.filter(({ errorCode }) => MAY_NOT_HAVE_CALLED.has(errorCode ?? '')).length;
    const called = calls.get(name) ?? 0;
    must(
      called <= ofName.length && called >= ofName.length - excusable,
      () =>
        `${name}: the model counts ${called} calls, there are ${ofName.length} rows, ${excusable} of them excusable`,
    );
  }
}

/** Request by request, for those whose id their client has learned. */
function checkClients(
  world: World,
  rows: readonly Row[],
  seen: readonly Seen[],
  { gatewaysPaused = false }: AuditOptions,
  must: Must,
): void {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const called = new Set(world.witness.calls.map(({ order }) => order.tag));
  for (const one of seen) {
    const { order } = one.ask;
    must(!one.hung, () => `${order.tag}: no end after 45 s`);
    if (one.id === null) continue;
    const row = byId.get(one.id);
    must(
      !called.has(order.tag) || row !== undefined,
      () => `${one.id}: the model was called, no row (${one.status})`,
    );
    if (one.status === 429 || one.status === 401)
      must(row === undefined, () => `${one.id}: refused with ${one.code}, but a row`);
    if (one.status === 200) must(row !== undefined, () => `${one.id}: answered, but no row`);
    if (!one.complete || !row) continue;
    if (row.errorCode === 'gateway_lost' && (gatewaysPaused || settlementWasLost(world, one))) continue;
    const prompt = order.usage ? PROMPT_TOKENS : null;
    must(
      row.answered && row.prompt === prompt && row.completion === (order.usage ? order.tokens : null),
      () => `${one.id}: answered whole, its row says ${JSON.stringify(row)}`,
    );
    must(
      (one.usage?.completion_tokens ?? null) === row.completion,
      () => `${one.id}: its client was told another usage`,
    );
  }
  const known = new Set(seen.map(({ id }) => id));
  const strangers = rows.filter(({ id }) => !known.has(id)).length;
  const unknown = seen.filter(({ id }) => id === null).length;
  must(
    strangers <= unknown,
    () => `${strangers} rows that no client asked for, ${unknown} clients had no answer`,
  );
}

/** The answer left while no limiter could take its settlement, and its gateway was killed before one could. */
function settlementWasLost(world: World, { ask, endedMs }: Seen): boolean {
  const limiterAway = world.killsBehind.some((atMs) => atMs <= endedMs && endedMs - atMs < SETTLING_MS);
  const gatewayKilled = world
    .killsOfGateway(ask.gateway)
    .some((atMs) => atMs >= endedMs - 100 && atMs - endedMs < SETTLING_MS);
  return limiterAway && gatewayKilled;
}

/** Requests a minute: in no 60 seconds more reservations than the key, and the organization, may make. */
function checkWindows(world: World, rows: readonly Row[], must: Must): void {
  const check = (name: string, limit: number, times: number[]) => {
    times.sort((a, b) => a - b);
    times.forEach((atMs, i) => {
      const later = times[i + limit];
      // Rows have whole milliseconds, admissions microseconds.
      must(later === undefined || later - atMs >= WINDOW_MS - 1, () => `${name}: more than ${limit} in 60 s`);
    });
  };
  for (const org of world.orgs) {
    check(
      org.slug,
      org.requestsMinute,
      timesOf(rows, ({ org: id }) => id === org.id),
    );
    for (const key of org.keys)
      check(
        key.id,
        key.rpm,
        timesOf(rows, ({ key: id }) => id === key.id),
      );
  }
}

const timesOf = (rows: readonly Row[], of: (row: Row) => boolean): number[] =>
  rows.filter(of).map(({ atMs }) => atMs);
