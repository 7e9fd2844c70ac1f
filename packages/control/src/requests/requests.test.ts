import { beforeAll, describe, expect, it } from '@jest/globals';
import { ERRORS, newRequestId } from '@tidegate/contracts';
import { ensureRequestPartitions, type Request } from '@tidegate/db';
import { dayOf } from '@tidegate/limits';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import type { Actor } from '../access/access.ts';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';
import type { ListRequestsInput } from './list.ts';
import { readErrors } from './read-errors.ts';
import type { ErrorsPeriod } from './show-errors.ts';
import { statusOf } from './status.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const DAY_MS = 86_400_000;

const db = ownTestDb();
let fixture: Fixture;
let org: string;
let orgId: string;
const clock = testClock();

beforeAll(async () => {
  fixture = createFixture(db(), clock.now);
  clock.set(NOW_MS);
  org = await fixture.org('Requests');
  orgId = (await db().org.findUniqueOrThrow({ where: { slug: org } })).id;
});

/** Writes a request and its part of the rollup, as metering does. Returns its id. */
async function request(atMs: number, fields: Partial<Request> = {}): Promise<string> {
  const reservationId = newRequestId();
  const day = new Date(dayOf(atMs));
  const row = {
    reservationId,
    day,
    orgId,
    keyId: 'key_a',
    modelId: 'mdl_a',
    reservedAt: new Date(atMs),
    answered: true,
    errorCode: null,
    streamed: false,
    promptTokens: 5,
    completionTokens: 2,
    reservedTokens: 100,
    chargedTokens: 7,
    durationMs: 40,
    firstChunkMs: null,
    ...fields,
  };
  await ensureRequestPartitions(db(), [dayOf(atMs)]);
  await db().request.create({ data: row });
  const pair = { orgId: row.orgId, day, keyId: row.keyId, modelId: row.modelId };
  const one = { requests: 1n, errors: row.answered ? 0n : 1n };
  const rest = { promptTokens: 0n, completionTokens: 0n, unreportedTokens: 0n, durationMsSum: 0n };
  await db().usageDay.upsert({
    where: { orgId_day_keyId_modelId: pair },
    create: { ...pair, ...one, ...rest, durationCount: 0n },
    update: { requests: { increment: one.requests }, errors: { increment: one.errors } },
  });
  return `req_${reservationId}`;
}

const failed = (errorCode: string, more: Partial<Request> = {}): Partial<Request> => ({
  answered: false,
  errorCode,
  promptTokens: null,
  completionTokens: null,
  ...more,
});

/** The ids of all pages, newest first. */
async function idsOf(input: Omit<ListRequestsInput, 'org'> = {}): Promise<string[]> {
  const ids: string[] = [];
  let before: string | undefined;
  do {
    const page: ListRequestsInput = { org, limit: 2, ...input, ...(before ? { before } : {}) };
    const { requests, next } = value(await fixture.control.listRequests(OPERATOR, page));
    ids.push(...requests.map(({ id }) => id));
    before = next ?? undefined;
  } while (before);
  return ids;
}

describe('the list of requests', () => {
  let ids: string[] = [];
  beforeAll(async () => {
    const written = [
      // At the same instant: their ids decide.
      await request(NOW_MS - 2),
      await request(NOW_MS - 2),
      await request(NOW_MS - 2, failed('upstream_error', { modelId: 'mdl_b' })),
      await request(NOW_MS - DAY_MS, { keyId: 'key_b' }),
      await request(NOW_MS - 2 * DAY_MS, failed('client_closed', { keyId: 'key_b', modelId: 'mdl_b' })),
      await request(NOW_MS - 9 * DAY_MS, { keyId: 'key_b', modelId: 'mdl_b' }),
      await request(NOW_MS - 34 * DAY_MS),
    ];
    ids = [...written.slice(0, 3).sort().reverse(), ...written.slice(3)];
    await request(NOW_MS - 36 * DAY_MS);
    await request(NOW_MS - 3, { orgId: 'org_of_others1' });
  });
  const at = (...indexes: number[]) => indexes.map((i) => ids[i]);
  const withCode = async (input: Omit<ListRequestsInput, 'org'>) =>
    (await idsOf(input)).map((id) => ids.indexOf(id));

  it('has each one of the last 35 days once, newest first, page by page, and none of others', async () => {
    expect(await idsOf()).toEqual(ids);
    expect(await idsOf({ limit: 1 })).toEqual(ids);
    expect(await idsOf({ limit: 200 })).toEqual(ids);
  });

  it('is restricted by key, model, outcome and time, alone and together', async () => {
    expect(await idsOf({ keyId: 'key_b' })).toEqual(at(3, 4, 5));
    expect(await idsOf({ keyId: 'key_b', modelId: 'mdl_b' })).toEqual(at(4, 5));
    expect(await withCode({ modelId: 'mdl_b' })).toHaveLength(3);
    expect(await withCode({ outcome: 'answered', keyId: 'key_b' })).toEqual([3, 5]);
    expect(await withCode({ outcome: 'answered' })).toHaveLength(5);
    expect(await withCode({ outcome: 'errors' })).toHaveLength(2);
    expect(await idsOf({ outcome: 'client_closed' })).toEqual(at(4));
    expect(await idsOf({ outcome: 'client_closed', keyId: 'key_a' })).toEqual([]);
    expect(await idsOf({ from: '2026-11-19', to: '2026-11-20' })).toEqual(at(3, 4));
    expect(await idsOf({ from: '2026-11-20', to: '2026-11-20' })).toEqual(at(3));
    expect(await idsOf({ from: '2026-11-20T12:00', to: '2026-11-20T12:01' })).toEqual(at(3));
    expect(await idsOf({ keyId: 'key_none' })).toEqual([]);
  });

  it('says what is wrong with a filter, and what is allowed', async () => {
    const told = async (input: Omit<ListRequestsInput, 'org'>) =>
      refusal(await fixture.control.listRequests(OPERATOR, { org, ...input })).message;
    expect(await told({ from: 'yesterday' })).toMatch(/^From must be a UTC time as YYYY-MM-DDTHH:MM/);
    expect(await told({ to: '2026-02-30T10:00' })).toMatch(/^To must be/);
    expect(await told({ from: '2026-11-20T12:01', to: '2026-11-20T12:00' })).toBe(
      'The period must end after it begins.',
    );
    expect(await told({ from: '2026-11-20T12:00', to: '2026-11-20T12:00' })).toBe(
      'The period must end after it begins.',
    );
    expect(await told({ from: '2026-11-21', to: '2026-11-20' })).toBe('The period must end after it begins.');
    expect(await told({ outcome: 'Bad!' })).toMatch(/^Outcome must be answered, errors, or an error code/);
    expect(await told({ before: 'x' })).toMatch(/^Before must be/);
    expect(await told({ limit: 201 })).toMatch(/^Limit must be/);
  });

  it('is seen by viewers, with names and without content', async () => {
    const key = value(await fixture.control.createKey(OPERATOR, { org, name: 'Named' }));
    await request(NOW_MS - 1, { keyId: key.id, streamed: true, firstChunkMs: 12 });
    const viewer = await fixture.user(org, 'viewer');
    const { requests } = value(await fixture.control.listRequests(viewer, { org, keyId: key.id }));
    expect(requests).toMatchObject([
      {
        at: new Date(NOW_MS - 1).toISOString(),
        key: 'Named',
        keyPrefix: key.prefix,
        status: 200,
        model: 'mdl_a',
        modelDeleted: true,
        promptTokens: 5,
        completionTokens: 2,
        chargedTokens: 7,
        durationMs: 40,
        firstChunkMs: 12,
        streamed: true,
        code: null,
      },
    ]);
  });
});

describe('why requests failed', () => {
  const HOUR_MS = DAY_MS / 24;
  const show = async (period: ErrorsPeriod, actor: Actor = OPERATOR) =>
    value(await fixture.control.showErrors(actor, { org: failing, period }));
  let failing: string;
  let failingId: string;
  beforeAll(async () => {
    failing = await fixture.org('Failing');
    failingId = (await db().org.findUniqueOrThrow({ where: { slug: failing } })).id;
  });

  it('is empty where nothing failed', async () => {
    await request(NOW_MS, { orgId: failingId });
    const { steps, ...errors } = await show('7d');
    expect(errors).toEqual({
      period: '7d',
      step: 'day',
      from: '2026-11-15T00:00:00.000Z',
      countedFrom: null,
      total: 0,
      codes: [],
      keys: [],
      models: [],
    });
    expect(steps.map(({ at, codes }) => [at.slice(0, 10), codes])).toEqual(
      ['15', '16', '17', '18', '19', '20', '21'].map((day) => [`2026-11-${day}`, {}]),
    );
  });

  it("is counted by code over hours or days, by key and by model, of the organization's rows alone", async () => {
    const key = value(await fixture.control.createKey(OPERATOR, { org: failing, name: 'Named' }));
    const of = (code: string, atMs: number, more: Partial<Request> = {}) =>
      request(atMs, failed(code, { orgId: failingId, keyId: key.id, ...more }));
    await of('upstream_error', NOW_MS);
    await of('upstream_error', NOW_MS - 1, { modelId: 'mdl_b' });
    await of('upstream_error', NOW_MS - 23 * HOUR_MS, { keyId: 'key_gone' });
    await of('client_closed', NOW_MS - 2);
    await of('model_refused', NOW_MS - 24 * HOUR_MS);
    await of('model_refused', NOW_MS - 29 * DAY_MS);
    await of('model_refused', NOW_MS - 30 * DAY_MS);
    await request(NOW_MS, failed('upstream_error', { orgId: 'org_of_others3' }));

    const day = await show('24h', await fixture.user(failing, 'viewer'));
    expect(day).toMatchObject({ total: 4, step: 'hour', from: '2026-11-20T13:00:00.000Z' });
    expect(day.codes.map(({ code, errors }) => [code, errors])).toEqual([
      ['upstream_error', 3],
      ['client_closed', 1],
    ]);
    const [{ firstAt, lastAt } = { firstAt: '', lastAt: '' }] = day.codes;
    expect(Date.parse(firstAt)).toBeLessThan(NOW_MS - 22 * 3_600_000);
    expect(Date.parse(lastAt)).toBeGreaterThan(NOW_MS - 3_600_000);
    expect(day.steps).toHaveLength(24);
    expect(day.steps.filter(({ codes }) => Object.keys(codes).length > 0)).toEqual([
      { at: '2026-11-20T13:00:00.000Z', codes: { upstream_error: 1 } },
      { at: '2026-11-21T11:00:00.000Z', codes: { upstream_error: 1, client_closed: 1 } },
      { at: '2026-11-21T12:00:00.000Z', codes: { upstream_error: 1 } },
    ]);
    expect(day.keys).toEqual([
      { keyId: key.id, key: 'Named', keyPrefix: key.prefix, errors: 3 },
      { keyId: 'key_gone', key: 'A deleted key', keyPrefix: null, errors: 1 },
    ]);
    expect(day.models).toEqual([
      { modelId: 'mdl_a', model: 'mdl_a', modelDeleted: true, errors: 3 },
      { modelId: 'mdl_b', model: 'mdl_b', modelDeleted: true, errors: 1 },
    ]);
    const month = await show('30d');
    expect(month).toMatchObject({ total: 6, step: 'day', from: '2026-10-23T00:00:00.000Z' });
    expect(month.steps[0]?.codes).toEqual({ model_refused: 1 });
    expect(month.steps.at(-1)?.codes).toEqual({ upstream_error: 2, client_closed: 1 });
  });

  it('is counted back from the newest, up to a maximum', async () => {
    const within = { orgId: failingId, fromMs: 0, toMs: NOW_MS + 1, step: 'day' } as const;
    const counted = await readErrors(db(), within, 2);
    expect(counted).toMatchObject({ total: 2, oldestAt: new Date(NOW_MS - 1).toISOString() });
    expect(counted.steps.map(({ errors }) => errors)).toEqual([2]);
  });

  it('is shown only for the periods that exist', async () => {
    const input = { org: failing, period: '1y' as ErrorsPeriod };
    expect(refusal(await fixture.control.showErrors(OPERATOR, input)).message).toBe(
      'Period must be one of 24h, 7d, 30d.',
    );
  });
});

describe('one request', () => {
  it('is found by each form of its id, wherever it is', async () => {
    const id = await request(NOW_MS - 20 * DAY_MS);
    const bare = id.slice('req_'.length);
    for (const form of [id, bare, `chatcmpl-${bare}`, ` ${id} `])
      expect(value(await fixture.control.showRequest(OPERATOR, { org, id: form }))).toMatchObject({
        id,
        state: 'settled',
        request: { id, durationMs: 40 },
      });
    for (const state of ['open', 'queued'] as const) {
      const other = newRequestId();
      fixture.limiter.underWay.set(other, state);
      const found = value(await fixture.control.showRequest(OPERATOR, { org, id: other }));
      expect(found).toEqual({ id: `req_${other}`, state, request: null });
    }
  });

  it('of nobody, of others, or with a malformed id is refused with the reason', async () => {
    const told = async (id: string) =>
      refusal(await fixture.control.showRequest(OPERATOR, { org, id })).message;
    expect(await told(newRequestId())).toContain('No request counted in the last 35 days has this id.');
    expect(await told(await request(NOW_MS, { orgId: 'org_of_others2' }))).toContain('No request counted');
    expect(await told('req_1')).toMatch(/^Request id must be 24 letters and digits/);
    fixture.limiter.away = true;
    expect(await told(newRequestId())).toContain('the limiter is not available');
    fixture.limiter.away = false;
  });
});

it('the status of a request is the one that its caller was sent', () => {
  const of = (errorCode: string | null, firstChunkMs: number | null = null) =>
    statusOf({ answered: errorCode === null, errorCode, firstChunkMs });
  expect(of(null)).toBe(200);
  for (const [code, { status }] of Object.entries(ERRORS)) expect(of(code)).toBe(status);
  expect(of('upstream_error', 30)).toBe(200);
  expect(of('stream_limit')).toBe(200);
  expect(of('client_closed')).toBeNull();
  expect(of('gateway_lost')).toBeNull();
  expect(of('shutdown')).toBe(500);
  expect(of('toString')).toBeNull();
});
