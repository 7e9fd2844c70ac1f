'use server';

import type { DeletedOrgView, OrgView, Result } from '@tidegate/control';
import { services } from '../server/services.ts';
import { asUser } from '../session/current.ts';

export const setPlan = async (org: string, plan: string): Promise<Result<OrgView>> =>
  asUser((actor) => services().control.setOrgPlan(actor, { org, plan }));

/** The organization's name, typed by the user, confirms it. */
export const deleteOrg = async (org: string, confirm: string): Promise<Result<DeletedOrgView>> =>
  asUser((actor) => services().control.deleteOrg(actor, { org, confirm }));
