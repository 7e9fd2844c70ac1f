import type { Actor } from './access/access.ts';
import { deleteAccount } from './account/delete.ts';
import { showAttention } from './attention/show.ts';
import { listAudit, listInstallationAudit } from './audit/list.ts';
import type { ControlDeps } from './deps.ts';
import { publishFound } from './discovery/publish.ts';
import { acceptInvitation, openInvitation } from './invitations/accept.ts';
import { createInvitation, listInvitations, withdrawInvitation } from './invitations/invitations.ts';
import { createKey } from './keys/create.ts';
import { deleteKey, listKeys, revokeKey } from './keys/keys.ts';
import { createPageKey, endPageKey } from './keys/page.ts';
import { endPageKeys } from './keys/revoke-pages.ts';
import { showKey } from './keys/show.ts';
import { tryKey } from './keys/try.ts';
import { leaveOrg, removeMember, setMemberRole } from './members/change.ts';
import { addMember, listMembers } from './members/members.ts';
import { setPassword } from './members/password.ts';
import { resetIdentity, resetTwoFactor } from './members/reset.ts';
import { changeModel } from './models/change.ts';
import { checkModel } from './models/check.ts';
import { checkChange } from './models/check-change.ts';
import { deleteModel, listModels, startModel, stopModel } from './models/models.ts';
import { publishModel } from './models/publish.ts';
import { showModel } from './models/show.ts';
import { nulFault } from './nul.ts';
import { bootstrap } from './orgs/bootstrap.ts';
import { deleteOrg } from './orgs/delete.ts';
import { listMemberships, tryModel } from './orgs/memberships.ts';
import { createOrg, listOrgs, setOrgPlan } from './orgs/orgs.ts';
import { requireTwoFactor } from './orgs/require-two-factor.ts';
import { listPlans, setPlan } from './plans/plans.ts';
import { listPools, setPool } from './pools/pools.ts';
import { showRefusals } from './refusals/show.ts';
import { listRequests } from './requests/list.ts';
import { showRequest } from './requests/show.ts';
import { showErrors } from './requests/show-errors.ts';
import { type Result, refuseInput } from './result.ts';
import { resealSecrets } from './secrets/reseal.ts';
import { showUsage, showUsageOfStep } from './usage/usage.ts';

const operations = {
  bootstrap,
  createOrg,
  listOrgs,
  setOrgPlan,
  deleteOrg,
  requireTwoFactor,
  listPlans,
  listPools,
  setPool,
  setPlan,
  addMember,
  listMembers,
  setMemberRole,
  removeMember,
  leaveOrg,
  deleteAccount,
  setPassword,
  resetTwoFactor,
  resetIdentity,
  createKey,
  listKeys,
  showKey,
  revokeKey,
  deleteKey,
  publishModel,
  checkModel,
  checkChange,
  changeModel,
  publishFound,
  listModels,
  showModel,
  startModel,
  stopModel,
  deleteModel,
  showAttention,
  showUsage,
  showUsageOfStep,
  listRequests,
  showRequest,
  showErrors,
  showRefusals,
  listAudit,
  listInstallationAudit,
  createInvitation,
  listInvitations,
  withdrawInvitation,
  openInvitation,
  acceptInvitation,
  listMemberships,
  tryModel,
  tryKey,
  createPageKey,
  endPageKey,
  endPageKeys,
  resealSecrets,
};

type Operations = typeof operations;
type Bound<F> = F extends (deps: ControlDeps, ...args: infer A) => infer R ? (...args: A) => R : never;

/**
 * The management domain. Every operation takes an actor and its input. It checks roles and input
 * itself, and resolves to a `Result`. It rejects only when Postgres fails. No operation ever sees
 * text with NUL.
 */
export type Control = { readonly [K in keyof Operations]: Bound<Operations[K]> };

export function createControl(deps: ControlDeps): Control {
  type Operation = (deps: ControlDeps, actor: Actor, input: unknown) => Promise<Result<unknown>>;
  const bound = Object.entries(operations).map(([name, operation]) => [
    name,
    async (actor: Actor, input: unknown) => {
      const fault = nulFault(input);
      return fault ? refuseInput(fault) : (operation as Operation)(deps, actor, input);
    },
  ]);
  return Object.fromEntries(bound) as Control;
}
