import { KEY_RULES, type PlanView } from '@tidegate/control';
import type { KeyRules } from './rules.ts';

/** The rules for keys on a plan. The plan's name is that of the organization's plan. */
export function rulesOf(plans: readonly PlanView[], plan: string): KeyRules {
  const onPlan = plans.find(({ name }) => name === plan)?.keys ?? KEY_RULES.perOrg.notRevoked;
  return { ...KEY_RULES, mostKeys: Math.min(onPlan, KEY_RULES.perOrg.notRevoked) };
}
