import type { PlanView, UsageMonth } from '@tidegate/control';
import type { QuotaProps } from '../usage/month-panel.tsx';

/** How much of a plan is in use. Leaves out requests at once while their number is unknown. */
export function quotasOf(plan: PlanView, month: UsageMonth, keysInUse: number): readonly QuotaProps[] {
  const { requests, tokens, inFlight } = month;
  const color = 'bg-accent';
  const atOnce = (value: number): QuotaProps => ({
    name: 'API requests at once',
    parts: [{ name: 'in progress', value, color }],
    cap: plan.requestsAtOnce,
  });
  return [
    {
      name: 'API requests a month',
      parts: [{ name: 'used', value: requests, color }],
      cap: plan.requestsPerMonth,
    },
    {
      name: 'API tokens a month',
      parts: [
        { name: 'used', value: tokens.charged, color },
        { name: 'reserved', value: tokens.reserved, color: 'bg-accent/40' },
      ],
      cap: plan.tokensPerMonth,
    },
    { name: 'API keys', parts: [{ name: 'in use', value: keysInUse, color }], cap: plan.keys },
    ...(inFlight === null ? [] : [atOnce(inFlight)]),
  ];
}
