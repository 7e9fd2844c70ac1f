import { describe, expect, it } from '@jest/globals';
import type { PlanView, UsageMonth } from '@tidegate/control';
import { quotasOf } from './quotas.ts';

const PLAN: PlanView = {
  id: 'pln_x',
  name: 'Pro',
  images: true,
  offered: true,
  keys: 50,
  requestsAtOnce: 64,
  requestsPerMinute: 600,
  requestsPerMonth: 1_000,
  tokensPerMonth: 10_000,
};
const MONTH: UsageMonth = {
  month: '2026-11',
  requests: 7,
  requestsCap: 1_000,
  resetsAt: '2026-12-01T00:00:00.000Z',
  tokens: { charged: 70, reserved: 5, cap: 10_000 },
  inFlight: 0,
  live: true,
};
const shown = (month: UsageMonth) =>
  quotasOf(PLAN, month, 3).map(({ name, parts, cap }) => [name, ...parts.map(({ value }) => value), cap]);

describe('the use of the plan', () => {
  const counted = [
    ['API requests a month', 7, 1_000],
    ['API tokens a month', 70, 5, 10_000],
    ['API keys', 3, 50],
  ];

  it('covers each cap of the plan', () => {
    expect(shown(MONTH)).toEqual([...counted, ['API requests at once', 0, 64]]);
  });

  it('shows no requests in progress while the limiter, which counts them, is unavailable', () => {
    expect(shown({ ...MONTH, inFlight: null, live: false })).toEqual(counted);
  });
});
