import { beforeAll, expect, it } from '@jest/globals';
import { eventually, testClock, waitingForLocks } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';
import type { Result } from '../result.ts';

const clock = testClock();
const db = ownTestDb();
let fixture: Fixture;

beforeAll(() => {
  fixture = createFixture(db(), clock.now);
});

/** Begins changes one after the other, all of which wait for the organization. */
const queued = (org: string, changes: readonly (() => Promise<Result<unknown>>)[]) =>
  db().$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT id FROM org WHERE slug = ${org} FOR UPDATE`;
      const results: Promise<Result<unknown>>[] = [];
      for (const change of changes) {
        results.push(change());
        await eventually(async () => (await waitingForLocks(db())) === results.length);
      }
      return { results };
    },
    { timeout: 60_000 },
  );

it('two simultaneous changes of plan are in the trail in the order in which they happened', async () => {
  const org = await fixture.org('Moved twice', 'Free');
  const to = (plan: string) => () => fixture.control.setOrgPlan(OPERATOR, { org, plan });
  const { results } = await queued(org, [to('Starter'), to('Pro')]);
  for (const result of await Promise.all(results)) value(result);
  const { events } = value(await fixture.control.listAudit(OPERATOR, { org, action: 'org.setPlan' }));
  expect(events.map(({ details }) => `${details.from} to ${details.plan}`).sort()).toEqual([
    'Free to Starter',
    'Starter to Pro',
  ]);
});

it('an owner cannot take back a plan that is not offered while an operator takes it away', async () => {
  const limits = { keys: 1, requestsPerMonth: 1, requestsPerMinute: 1, requestsAtOnce: 1, tokensPerMonth: 1 };
  value(await fixture.control.setPlan(OPERATOR, { name: 'Special', ...limits, images: true }));
  const org = await fixture.org('Taken away', 'Special');
  const owner = await fixture.user(org, 'owner');
  const { results } = await queued(org, [
    () => fixture.control.setOrgPlan(OPERATOR, { org, plan: 'Free' }),
    () => fixture.control.setOrgPlan(owner, { org, plan: 'Special' }),
  ]);
  const [taken, kept] = await Promise.all(results);
  expect([taken?.ok, kept && refusal(kept).code]).toEqual([true, 'not_found']);
  expect(value(await fixture.control.listOrgs(owner))).toMatchObject([{ plan: 'Free' }]);
});
