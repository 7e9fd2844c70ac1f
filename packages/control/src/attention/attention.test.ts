import { beforeAll, describe, expect, it } from '@jest/globals';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, value } from '../fixture.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12, 34);

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();

beforeAll(async () => {
  fixture = createFixture(db(), clock.now);
  clock.set(NOW_MS);
});

const idOf = async (slug: string) => (await db().org.findUniqueOrThrow({ where: { slug } })).id;
const shown = async (org: string) => value(await fixture.control.showAttention(OPERATOR, { org }));

async function publishFailed(org: string, name: string): Promise<void> {
  const server = { kind: 'text', mode: 'always_on', contextTokens: 9 } as const;
  const urls = ['http://127.0.0.1:9'];
  const { id } = value(await fixture.control.publishModel(OPERATOR, { org, name, ...server, urls }));
  await db().model.update({ where: { id }, data: { condition: 'failed' } });
}

describe('what may call for attention', () => {
  it('of an organization without models or requests is nothing', async () => {
    expect(await shown(await fixture.org('Quiet'))).toMatchObject({
      failedModels: 0,
      requests: 0,
      errors: 0,
    });
  });

  it("counts the organization's published models that have failed", async () => {
    const [org, other] = [await fixture.org('Failing'), await fixture.org('Failing, too')];
    for (const name of ['a', 'b', 'well', 'deleted']) await publishFailed(org, name);
    await publishFailed(other, 'a');
    await db().model.updateMany({ where: { name: 'well' }, data: { condition: 'running' } });
    value(await fixture.control.deleteModel(OPERATOR, { org, name: 'deleted' }));
    expect((await shown(org)).failedModels).toBe(2);
  });

  it("adds up the organization's requests of this hour and the one before", async () => {
    const [org, other] = [await fixture.org('Busy'), await fixture.org('Busy, too')];
    const [orgId, otherId] = [await idOf(org), await idOf(other)];
    const hour = (hoursAgo: number) => new Date(Date.UTC(2026, 10, 21, 12 - hoursAgo));
    await db().$executeRaw`INSERT INTO usage_hour VALUES
      (${orgId}, ${hour(0)}, 'key_a', 'mdl_x', 10, 1, 0, 0, 0, 0, 0),
      (${orgId}, ${hour(0)}, 'key_b', 'mdl_x', 20, 2, 0, 0, 0, 0, 0),
      (${orgId}, ${hour(1)}, 'key_a', 'mdl_x', 40, 4, 0, 0, 0, 0, 0),
      (${orgId}, ${hour(2)}, 'key_a', 'mdl_x', 80, 8, 0, 0, 0, 0, 0),
      (${otherId}, ${hour(0)}, 'key_c', 'mdl_y', 160, 16, 0, 0, 0, 0, 0)`;
    expect(await shown(org)).toMatchObject({ requests: 70, errors: 7 });
  });

  it('has the month as it is written in Postgres, without waiting for the limiter', async () => {
    const org = await fixture.org('Month', 'Free');
    const orgId = await idOf(org);
    await db().monthTotal.create({ data: { orgId, month: '2026-11', requests: 6n, chargedTokens: 60n } });
    const { month } = await shown(org);
    expect(month).toMatchObject({ requests: 6, tokens: { charged: 60, cap: 5_000_000 }, live: false });
  });
});
