import { expect, it } from '@jest/globals';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, OPERATOR } from '../fixture.ts';

const clock = testClock();
const db = ownTestDb();
const LIMITS = { keys: 1, requestsPerMonth: 1, requestsPerMinute: 1, requestsAtOnce: 1, tokensPerMonth: 1 };

it('a plan is created once if several people create it under names that differ only in case', async () => {
  const { control } = createFixture(db(), clock.now);
  const names = ['team', 'Team', 'tEam', 'teAm', 'teaM', 'TEAM'];
  const made = await Promise.all(
    names.map((name) => control.setPlan(OPERATOR, { name, ...LIMITS, images: true })),
  );
  const plans = await db().plan.findMany({ where: { name: { in: names } } });
  expect(plans).toHaveLength(1);
  for (const result of made) if (!result.ok) expect(result.refusal.code).toBe('conflict');
});
