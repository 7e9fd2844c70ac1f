export type { Condition } from '@tidegate/contracts';
export type { Actor } from './access/access.ts';
export { type Action, POLICY, ROLES, type Role } from './access/policy.ts';
export { CREDENTIAL } from './access/second-factor.ts';
export type { DeleteAccountInput, DeletedAccountView } from './account/delete.ts';
export { type AccountAction, type AccountEvent, recordAccountEvent } from './account/events.ts';
export type { AttentionView, ShowAttentionInput } from './attention/show.ts';
export type { AuditPage, AuditView, ListAuditInput, ListInstallationAuditInput } from './audit/list.ts';
export { recordOperatorAct } from './audit/record.ts';
export { type Control, createControl } from './control.ts';
export type {
  ControlDeps,
  Inspection,
  LimiterPort,
  LiveMonth,
  RunnerPort,
  ServerToInspect,
} from './deps.ts';
export {
  type DiscoverOptions,
  discoverServers,
  type FoundModel,
  type FoundServer,
  lackOf,
  USUAL_PORTS,
} from './discovery/discover.ts';
export type { PublishFoundInput } from './discovery/publish.ts';
export { readPublished } from './discovery/published.ts';
export { limiterOverGrpc } from './grpc/limiter.ts';
export { type Closable, DEADLINES, type Deadlines } from './grpc/rpc.ts';
export { runnerOverGrpc } from './grpc/runner.ts';
export type { AcceptInvitationInput, OpenInvitation, OpenInvitationInput } from './invitations/accept.ts';
export type {
  CreatedInvitation,
  CreateInvitationInput,
  InvitationView,
  ListInvitationsInput,
  WithdrawInvitationInput,
} from './invitations/invitations.ts';
export type { CreatedKey, CreateKeyInput } from './keys/create.ts';
export type { KeyInput, ListKeysInput } from './keys/keys.ts';
export type { CreatedPageKey, CreatePageKeyInput, EndPageKeyInput } from './keys/page.ts';
export type { KeyDetail } from './keys/show.ts';
export type { TryKeyInput } from './keys/try.ts';
export {
  KEY_RULES,
  type KeyState,
  type KeyView,
  limitsText,
  type MayCall,
  mayCallText,
  PAGE_KEY,
} from './keys/view.ts';
export { logFailures } from './log-failures.ts';
export type { LeaveOrgInput, RemoveMemberInput, SetMemberRoleInput } from './members/change.ts';
export type { AddedMember, AddMemberInput, ListedMember, MemberView } from './members/members.ts';
export type { AccountView, SetPasswordInput } from './members/password.ts';
export type { AccountInput } from './members/reset.ts';
export { endSteps, type NamedAccount } from './members/sign-out.ts';
export { hasPassword, PASSWORD_RULE } from './members/user.ts';
export { weakPassword } from './members/weak-password.ts';
export type { CheckModelInput, ModelCheck, ServedModelView } from './models/check.ts';
export type { ChangeModelInput, ListModelsInput, ModelInput, PublishModelInput } from './models/input.ts';
export type {
  ConditionChangeView,
  ModelDetail,
  ModelRun,
  ModelSettings,
  ShowModelInput,
} from './models/show.ts';
export type { DeletedModelView, ListedModelView, ModelChange, ModelNow, ModelView } from './models/view.ts';
export type { BootstrapInput, BootstrapView } from './orgs/bootstrap.ts';
export type { DeletedOrgView, DeleteOrgInput } from './orgs/delete.ts';
export type { MembershipView, TryModelInput } from './orgs/memberships.ts';
export type { CreateOrgInput, OrgView, SetOrgPlanInput } from './orgs/orgs.ts';
export type { RequireTwoFactorInput } from './orgs/require-two-factor.ts';
export { PLAN_LIMITS, type PlanLimitTable, type PlanView, type SetPlanInput } from './plans/plans.ts';
export type { PoolChange, PoolView, SetPoolInput } from './pools/pools.ts';
export type { RefusalsStep, RefusalsView, ShowRefusalsInput } from './refusals/show.ts';
export type { ListRequestsInput, RequestPage } from './requests/list.ts';
export type { FoundRequest, RequestProgress, ShowRequestInput } from './requests/show.ts';
export type { ErrorsPeriod, ErrorsStep, ErrorsView, ShowErrorsInput } from './requests/show-errors.ts';
export type { RequestView } from './requests/view.ts';
export { type ControlRefusal, type Fault, type RefusalCode, type Result, refuseInput } from './result.ts';
export type { Resealed } from './secrets/reseal.ts';
export type { UsageCounts } from './usage/sums.ts';
export {
  MAX_USAGE_ROWS,
  type UsageDayView,
  type UsageHourView,
  type UsageInput,
  type UsageMonth,
  type UsageOfStepInput,
  type UsageView,
} from './usage/usage.ts';
export type { TimePercentiles, UsageModelView, UsageRowView } from './usage/views.ts';
