'use server';

import type { OrgView, Result } from '@tidegate/control';
import { services } from '../server/services.ts';
import { asUser } from '../session/current.ts';

export const setPlan = async (org: string, plan: string): Promise<Result<OrgView>> =>
  asUser((actor) => services().control.setOrgPlan(actor, { org, plan }));
