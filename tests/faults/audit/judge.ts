import type { Evidence, Must } from './evidence.ts';
import { judgeCalls, judgeClients } from './judge-requests.ts';
import { monthOf } from './live.ts';
import { dayName, type Row, totalsOf } from './rows.ts';

const WINDOW_MS = 60_000;

/**
 * Compares the counts of everyone involved. README.md says which are equalities, which are bounds,
 * and why. Empty: everything holds.
 */
export function judge(evidence: Evidence): string[] {
  const violations: string[] = [];
  const must: Must = (holds, text) => void (holds || violations.push(text()));
  judgeRows(evidence, must);
  judgeDays(evidence, must);
  judgeMonths(evidence, must);
  judgeWindows(evidence, must);
  judgeCalls(evidence, must);
  judgeClients(evidence, must);
  violations.push(...evidence.aboveCaps);
  return violations;
}

function judgeRows({ rows }: Evidence, must: Must): void {
  const ids = new Set(rows.map(({ id }) => id));
  must(ids.size === rows.length, () => `${rows.length - ids.size} duplicate rows`);
  for (const row of rows) {
    const used = row.prompt === null ? null : row.prompt + (row.completion ?? 0);
    must(row.charged === (used ?? row.reserved), () => `${row.id}: charged ${row.charged}, used ${used}`);
    must(row.answered || used === null, () => `${row.id}: an error with usage`);
    must(row.answered === (row.errorCode === null), () => `${row.id}: answered, and ${row.errorCode}`);
    const day = new Date(row.atMs).toISOString().slice(0, 10);
    must(row.day === day, () => `${row.id}: admitted on ${day}, written on ${row.day}`);
  }
}

function judgeDays({ rows, days }: Evidence, must: Must): void {
  const expected = totalsOf(rows);
  must(days.length === expected.size, () => `${days.length} day rollups, ${expected.size} expected`);
  for (const day of days) {
    const fromRows = JSON.stringify(expected.get(dayName(day)));
    must(fromRows === JSON.stringify(day), () => `day rollup ${JSON.stringify(day)}, rows ${fromRows}`);
  }
}

function judgeMonths({ orgs, rows, months, ledgers }: Evidence, must: Must): void {
  for (const org of orgs) {
    const ofOrg = rows.filter((row) => row.org === org.id);
    const names = new Set(ofOrg.map(({ atMs }) => monthOf(atMs)));
    for (const list of [months, ledgers])
      for (const one of list) if (one.org === org.id && one.requests > 0) names.add(one.month);
    for (const month of names) {
      const ofMonth = ofOrg.filter(({ atMs }) => monthOf(atMs) === month);
      const charged = ofMonth.reduce((sum, row) => sum + row.charged, 0);
      const is = (one: { org: string; month: string }) => one.org === org.id && one.month === month;
      const total = months.find(is);
      const ledger = ledgers.find(is);
      const equals = (count: { requests: number; charged: number } | undefined) =>
        count?.requests === ofMonth.length && count.charged === charged;
      const tell = (name: string, count: object | undefined) => () =>
        `${org.slug} ${month}: ${name} ${JSON.stringify(count)}, rows ${ofMonth.length} requests and ${charged} tokens`;
      must(equals(total), tell('month total', total));
      must(equals(ledger), tell('ledger', ledger));
      must(ledger?.reserved === 0, tell('still reserved', ledger));
      must(ofMonth.length <= org.most.requestsPerMonth, tell('over the requests of the month', org.most));
      must(charged <= org.most.tokensPerMonth, tell('over the tokens of the month', org.most));
    }
  }
}

/**
 * Checks requests a minute: no 60 seconds contain more reservations than the key, or the
 * organization, may make.
 */
function judgeWindows({ orgs, rows }: Evidence, must: Must): void {
  const check = (name: string, limit: number, of: (row: Row) => boolean) => {
    const times = rows.filter(of).map(({ atMs }) => atMs);
    times.sort((a, b) => a - b);
    times.forEach((atMs, i) => {
      const later = times[i + limit];
      // Rows have whole milliseconds, but admissions have microseconds.
      must(later === undefined || later - atMs >= WINDOW_MS - 1, () => `${name}: more than ${limit} in 60 s`);
    });
  };
  for (const org of orgs) {
    check(org.slug, org.most.requestsPerMinute, (row) => row.org === org.id);
    for (const key of org.keys) check(key.id, key.rpm, (row) => row.key === key.id);
  }
}
