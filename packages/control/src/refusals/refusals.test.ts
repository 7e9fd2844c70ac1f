import { beforeAll, describe, expect, it } from '@jest/globals';
import type { RefusalHour } from '@tidegate/db';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';
import type { ShowRefusalsInput } from './show.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12, 30);
const HOUR_MS = 3_600_000;

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();
let org: string;
let orgId: string;
let busy: string;
let quiet: string;

beforeAll(async () => {
  fixture = createFixture(db(), clock.now);
  clock.set(NOW_MS);
  org = await fixture.org('Refusals', 'Free');
  orgId = (await db().org.findUniqueOrThrow({ where: { slug: org } })).id;
  const keyNamed = async (name: string) => value(await fixture.control.createKey(OPERATOR, { org, name })).id;
  busy = await keyNamed('busy');
  quiet = await keyNamed('quiet');
  const gone = await keyNamed('gone');
  await refused(0, 40, { modelId: 'mdl_gone' });
  await refused(23, 2, { keyId: quiet });
  await refused(23, 1, { keyId: quiet, code: 'model_not_found', cause: '' });
  await refused(24, 100);
  await refused(40 * 24, 1_000);
  await refused(0, 5_000, { keyId: gone });
  value(await fixture.control.revokeKey(OPERATOR, { org, id: gone }));
  value(await fixture.control.deleteKey(OPERATOR, { org, id: gone }));
});

const hourOf = (hoursAgo: number) => new Date(Math.floor(NOW_MS / HOUR_MS - hoursAgo) * HOUR_MS);
const refused = (hoursAgo: number, refusals: number, more: Partial<RefusalHour> = {}) =>
  db().refusalHour.create({
    data: {
      orgId,
      keyId: busy,
      modelId: '',
      hour: hourOf(hoursAgo),
      refusals: BigInt(refusals),
      code: 'rate_limit_exceeded',
      cause: 'key_requests_per_minute',
      ...more,
    },
  });
const shown = async (input: ShowRefusalsInput = {}) =>
  value(await fixture.control.showRefusals(OPERATOR, { org, ...input }));

describe('refusals', () => {
  it('of the last 24 hours are counted by cause, hour, key and model, the deleted key left out', async () => {
    const { total, causes, keys, models, steps, step, from } = await shown();
    expect({ total, step, from }).toEqual({ total: 43, step: 'hour', from: '2026-11-20T13:00:00.000Z' });
    expect(causes).toEqual([
      {
        code: 'rate_limit_exceeded',
        cause: 'key_requests_per_minute',
        refusals: 42,
        firstHour: hourOf(23).toISOString(),
        lastHour: hourOf(0).toISOString(),
      },
      {
        code: 'model_not_found',
        cause: null,
        refusals: 1,
        firstHour: hourOf(23).toISOString(),
        lastHour: hourOf(23).toISOString(),
      },
    ]);
    expect(keys).toMatchObject([
      { keyId: busy, key: 'busy', refusals: 40, requestsPerMinute: 60, requestsAtOnce: 4 },
      { keyId: quiet, key: 'quiet', refusals: 3 },
    ]);
    expect(models).toEqual([{ modelId: 'mdl_gone', model: 'mdl_gone', modelDeleted: true, refusals: 40 }]);
    expect(steps).toHaveLength(24);
    expect(steps[0]).toEqual({
      at: '2026-11-20T13:00:00.000Z',
      causes: { key_requests_per_minute: 2, model_not_found: 1 },
    });
    expect(steps.at(-1)).toEqual({ at: '2026-11-21T12:00:00.000Z', causes: { key_requests_per_minute: 40 } });
  });

  it('can be counted by day, and for one key', async () => {
    const week = await shown({ days: 7 });
    expect([week.total, week.step, week.steps.length]).toEqual([143, 'day', 7]);
    const [most] = week.causes;
    expect([most?.firstHour, most?.lastHour]).toEqual([hourOf(24).toISOString(), hourOf(0).toISOString()]);
    expect(week.keys).toMatchObject([
      { keyId: busy, refusals: 140 },
      { keyId: quiet, refusals: 3 },
    ]);
    expect(week.steps.at(-2)).toEqual({
      at: '2026-11-20T00:00:00.000Z',
      causes: { key_requests_per_minute: 102, model_not_found: 1 },
    });
    expect(await shown({ keyId: quiet, hours: 72 })).toMatchObject({ total: 3, keys: [{ keyId: quiet }] });
  });

  it('come with the limits of the plan', async () => {
    expect((await shown()).plan).toEqual(
      expect.objectContaining({ requestsPerMinute: 60, requestsAtOnce: 4 }),
    );
  });

  it('of another organization are not seen, nor are those of its keys', async () => {
    const other = await fixture.org('Other');
    const seen = value(await fixture.control.showRefusals(OPERATOR, { org: other, keyId: busy, days: 35 }));
    expect(seen).toMatchObject({ total: 0, causes: [], keys: [], models: [] });
  });

  it('are not shown for an invalid period, and the answer says what it may be', async () => {
    const faultOf = async (input: ShowRefusalsInput) =>
      refusal(await fixture.control.showRefusals(OPERATOR, { org, ...input })).message;
    expect(await faultOf({ hours: 73 })).toBe('Hours must be a whole number from 1 to 72.');
    expect(await faultOf({ days: 36 })).toBe('Days must be a whole number from 1 to 35.');
    expect(await faultOf({ days: 1, hours: 1 })).toBe('Give hours or days, not both.');
  });
});
