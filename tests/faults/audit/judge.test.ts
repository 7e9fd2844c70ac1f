import { describe, expect, it } from '@jest/globals';
import { plainAsk, type Seen } from '../load/ask.ts';
import type { Key, Org } from '../world/org.ts';
import type { WitnessedCall } from '../world/witness.ts';
import type { Evidence } from './evidence.ts';
import { judge } from './judge.ts';
import { type Row, totalsOf } from './rows.ts';

const START_MS = Date.UTC(2026, 10, 30, 23, 59, 58);
const CONTEXT = 1_000;

const most = { requestsPerMonth: 6, tokensPerMonth: 10 * CONTEXT, requestsPerMinute: 5, atOnce: 3 };
const org: Org = {
  id: 'org_a',
  slug: 'a',
  tag: 'a',
  most,
  listings: 0,
  keys: [],
  models: new Map([
    ['tide', 'mdl_tide'],
    ['ebb', 'mdl_ebb'],
  ]),
};
const key: Key = { id: 'key_1', value: 'ti_1', rpm: 4, atOnce: 3, org };
const key2: Key = { ...key, id: 'key_2' };
org.keys.push(key, key2);

type Changeable<T> = { -readonly [K in keyof T]: T[K] };
type Draft = {
  rows: Changeable<Row>[];
  calls: Changeable<WitnessedCall>[];
  seen: Seen[];
  days: Changeable<Evidence['days'][number]>[];
  months: Changeable<Evidence['months'][number]>[];
  ledgers: Changeable<Evidence['ledgers'][number]>[];
  excused: Set<Seen>;
  aboveCaps: string[];
};

const at = <T>(list: readonly T[], i: number): T => list[i] as T;

/**
 * Four requests around the end of a month. Three are answered, one of them without usage. The
 * fourth lost its gateway before its call.
 */
function sound(): Draft {
  const calls: WitnessedCall[] = [];
  const rows: Row[] = [];
  const seen: Seen[] = [];
  for (const i of [0, 1, 2, 3]) {
    const by = i % 2 ? key2 : key;
    const ask = plainAsk(by, 'http://gateway', { tag: `t${i}`, usage: i !== 1, tokens: 5 + i });
    const lost = i === 3;
    const usage = lost || i === 1 ? null : { prompt_tokens: i + 1, completion_tokens: 5 + i };
    const atMs = START_MS + i * 1_000;
    const call = { number: i + 1, order: ask.order, model: 'tide', atMs, answered: true };
    if (!lost) calls.push(call);
    const used = usage ? usage.prompt_tokens + usage.completion_tokens : null;
    rows.push({
      id: `r${i}`,
      day: new Date(atMs).toISOString().slice(0, 10),
      org: org.id,
      key: by.id,
      model: 'mdl_tide',
      atMs,
      answered: !lost,
      errorCode: lost ? 'gateway_lost' : null,
      prompt: usage?.prompt_tokens ?? null,
      completion: usage?.completion_tokens ?? null,
      reserved: CONTEXT,
      charged: used ?? CONTEXT,
    });
    seen.push({
      ask,
      id: lost ? null : `r${i}`,
      status: lost ? 0 : 200,
      complete: !lost,
      usage,
      code: null,
      startedMs: atMs,
      endedMs: atMs + 10,
      hung: false,
    });
  }
  const refused = { ...plainAsk(key, 'http://gateway', { tag: 'refused' }) };
  seen.push({ ...at(seen, 0), ask: refused, id: 'refused', status: 429, complete: false, usage: null });
  const monthly = ['2026-11', '2026-12'].map((month) => {
    const ofMonth = rows.filter(({ day }) => day.startsWith(month));
    const charged = ofMonth.reduce((sum, row) => sum + row.charged, 0);
    return { org: org.id, month, requests: ofMonth.length, charged };
  });
  return {
    rows,
    calls,
    seen,
    days: [...totalsOf(rows).values()],
    months: monthly,
    ledgers: monthly.map((month) => ({ ...month, reserved: 0 })),
    excused: new Set(),
    aboveCaps: [],
  };
}

/** Changes fields of one of them. */
const set = <T extends object>(one: T, change: Partial<T>): void => void Object.assign(one, change);

const verdict = (draft: Draft, orgs: Evidence['orgs'] = [org]): string[] => judge({ orgs, ...draft });
const with429 = (draft: Draft): Row => ({ ...at(draft.rows, 0), id: 'refused' });

/** Makes the totals agree with the rows again, so that only the intended fault is left. */
function added(draft: Draft, row: Row): void {
  const again = sound();
  draft.rows.push(row);
  draft.days = [...totalsOf(draft.rows).values()];
  for (const list of [draft.months, draft.ledgers])
    for (const one of list) {
      if (!row.day.startsWith(one.month)) continue;
      one.requests += 1;
      one.charged += row.charged;
    }
  expect(again.rows).toHaveLength(draft.rows.length - 1);
}

const BREAKS: readonly (readonly [string, RegExp, (draft: Draft) => void])[] = [
  ['a request written twice', /duplicate rows/, (d) => d.rows.push(at(d.rows, 0))],
  ['a row that is missing', /answered, but no row/, (d) => d.rows.shift()],
  ['a row charged for more than was used', /charged 99/, (d) => set(at(d.rows, 0), { charged: 99 })],
  ['an error with usage', /an error with usage/, (d) => set(at(d.rows, 0), { answered: false })],
  [
    'an answer with an error code',
    /answered, and upstream/,
    (d) => set(at(d.rows, 0), { errorCode: 'upstream' }),
  ],
  ['a row on another day', /written on 2026-12-01/, (d) => set(at(d.rows, 0), { day: '2026-12-01' })],
  ['a day rollup too high', /day rollup/, (d) => void at(d.days, 0).requests++],
  ['a day rollup with one error too few', /day rollup/, (d) => void at(d.days, 3).errors--],
  ['a day rollup that is missing', /3 day rollups/, (d) => void d.days.pop()],
  ['a day rollup for another model', /day rollup/, (d) => set(at(d.days, 0), { model: 'mdl_ebb' })],
  ['a month total too low', /month total/, (d) => void at(d.months, 0).requests--],
  ['a month total with other tokens', /month total/, (d) => void at(d.months, 1).charged++],
  ['a month that is missing', /month total undefined/, (d) => void d.months.pop()],
  ['a ledger too high', /ledger/, (d) => void at(d.ledgers, 0).requests++],
  ['a ledger with other tokens', /ledger/, (d) => void at(d.ledgers, 0).charged--],
  ['tokens still reserved', /still reserved/, (d) => set(at(d.ledgers, 0), { reserved: CONTEXT })],
  [
    'a call without a row',
    /4 calls|called, no row|by the other side/,
    (d) => d.calls.push({ ...at(d.calls, 0), number: 9, order: { ...at(d.calls, 0).order, tag: 'other' } }),
  ],
  ['a request that called the model twice', /called the model twice/, (d) => d.calls.push(at(d.calls, 0))],
  [
    'a row that the model knows nothing of',
    /by the other side/,
    (d) => added(d, { ...at(d.rows, 0), id: 'x' }),
  ],
  [
    'a call of another key',
    /by the other side/,
    (d) => {
      const call = at(d.calls, 0);
      call.order = { ...call.order, key: key2.id };
    },
  ],
  ['a call of another model', /by the other side/, (d) => set(at(d.calls, 0), { model: 'ebb' })],
  [
    'usage of an answer that the model never gave',
    /no such answer/,
    (d) => {
      at(d.rows, 0).prompt = 8;
      at(d.rows, 0).completion = 5 + 1 - 8 + 0;
    },
  ],
  [
    'other tokens than the model counted',
    /the model's \d+|model's usage/,
    (d) => set(at(d.calls, 0), { order: { ...at(d.calls, 0).order, tokens: 77 } }),
  ],
  [
    'an answer with usage written without it',
    /rows answered with/,
    (d) => {
      at(d.rows, 0).prompt = null;
      at(d.rows, 0).completion = null;
      at(d.rows, 0).charged = CONTEXT;
    },
  ],
  [
    'a client that was told other usage than the model said',
    /client was told/,
    (d) => set(at(d.seen, 0), { usage: { prompt_tokens: 1, completion_tokens: 6 } }),
  ],
  [
    'an answer read whole, written as an error',
    /answered whole/,
    (d) => {
      set(at(d.rows, 0), { answered: false, errorCode: 'gateway_lost', charged: CONTEXT });
      set(at(d.rows, 0), { prompt: null, completion: null });
    },
  ],
  [
    'an answer written for another key',
    /another organization, key or model/,
    (d) => set(at(d.rows, 0), { key: key2.id }),
  ],
  ['a refused request with a row', /refused with/, (d) => added(d, with429(d))],
  [
    'a refused request with a call',
    /refused with/,
    (d) => d.calls.push({ ...at(d.calls, 0), number: 9, order: at(d.seen, 4).ask.order }),
  ],
  ['a request that never ended', /no end after/, (d) => set(at(d.seen, 0), { hung: true })],
  ['rows that nobody asked for', /no client asked for/, (d) => added(d, { ...at(d.rows, 3), id: 'y' })],
  ['in flight above a cap', /in flight/, (d) => d.aboveCaps.push('org_a: 4 in flight at the model')],
];

describe('the judge', () => {
  it('finds nothing wrong when everything agrees, an excused loss included', () => {
    expect(verdict(sound())).toEqual([]);
    const draft = sound();
    const row = at(draft.rows, 0);
    set(row, {
      answered: false,
      errorCode: 'gateway_lost',
      prompt: null,
      completion: null,
      charged: CONTEXT,
    });
    draft.days = [...totalsOf(draft.rows).values()];
    for (const list of [draft.months, draft.ledgers]) at(list, 0).charged = 2 * CONTEXT;
    draft.excused.add(at(draft.seen, 0));
    expect(verdict(draft)).toEqual([]);
  });

  it.each(BREAKS)('finds %s', (_name, text, breakIt) => {
    const draft = sound();
    breakIt(draft);
    expect(verdict(draft).join('\n')).toMatch(text);
  });

  it.each([
    ['requests of a month', { requestsPerMonth: 1 }, /over the requests/],
    ['tokens of a month', { tokensPerMonth: 1_000 }, /over the tokens/],
    ['requests a minute of an organization', { requestsPerMinute: 3 }, /a: more than 3 in 60 s/],
  ])('finds too many %s', (_name, limit, text) => {
    expect(verdict(sound(), [{ ...org, most: { ...most, ...limit } }]).join('\n')).toMatch(text);
  });

  it('finds too many requests a minute of a key', () => {
    const keys = [{ ...key, rpm: 1 }, key2];
    expect(verdict(sound(), [{ ...org, keys }])).toEqual(['key_1: more than 1 in 60 s']);
  });
});
