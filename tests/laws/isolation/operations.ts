import type { Actor, Control } from '@tidegate/control';

/** What an operation can name in an organization. It exists, or is made up in the same form. */
export interface Target {
  readonly org: string;
  readonly keyId: string;
  readonly keyValue: string;
  readonly model: string;
  readonly modelId: string;
  readonly email: string;
  readonly invitationId: string;
  readonly eventId: string;
  readonly requestId: string;
}

const LIMITS = { requestsPerMinute: 1, requestsAtOnce: 1 };
const PUBLICATION = {
  name: 'new',
  kind: 'text',
  mode: 'always_on',
  contextTokens: 10,
  urls: ['http://127.0.0.1:1'],
} as const;

const FOUND = {
  server: { server: 'Ollama', url: 'http://127.0.0.1:1/v1', needsKey: false, models: [] },
  model: { name: 'new', upstreamModel: 'new:latest', kind: 'text', contextTokens: 10, contextAssumed: true },
} as const;

type Input<K extends keyof Control> = Parameters<Control[K]>[1];
type Inputs<K extends keyof Control = keyof Control> = { readonly [P in K]: (target: Target) => Input<P> };

/** Operations that name no organization. */
export type Unbound =
  | 'bootstrap'
  | 'createOrg'
  | 'listOrgs'
  | 'listPlans'
  | 'setPlan'
  | 'listPools'
  | 'setPool'
  | 'setPassword'
  | 'deleteAccount'
  | 'endPageKeys'
  | 'resetTwoFactor'
  | 'resetIdentity'
  | 'openInvitation'
  | 'acceptInvitation'
  | 'listInstallationAudit'
  | 'listMemberships'
  | 'resealSecrets';

/**
 * The input that makes each operation act on the target. A new operation does not compile until it
 * has one.
 */
export const WITHIN_ORG: Inputs<Exclude<keyof Control, Unbound>> = {
  setOrgPlan: ({ org }) => ({ org, plan: 'Free' }),
  deleteOrg: ({ org }) => ({ org, confirm: 'not its name' }),
  leaveOrg: ({ org }) => ({ org }),
  requireTwoFactor: ({ org }) => ({ org, required: false }),
  addMember: ({ org }) => ({ org, email: 'new@example.com', role: 'viewer' }),
  listMembers: ({ org }) => ({ org }),
  setMemberRole: ({ org, email }) => ({ org, email, role: 'viewer' }),
  removeMember: ({ org, email }) => ({ org, email }),
  createKey: ({ org, model }) => ({ org, name: 'new', models: [model], ...LIMITS }),
  listKeys: ({ org }) => ({ org }),
  showKey: ({ org, keyId }) => ({ org, id: keyId }),
  revokeKey: ({ org, keyId }) => ({ org, id: keyId }),
  deleteKey: ({ org, keyId }) => ({ org, id: keyId }),
  publishModel: ({ org }) => ({ org, ...PUBLICATION, urls: [...PUBLICATION.urls] }),
  publishFound: ({ org }) => ({ org, ...FOUND }),
  listModels: ({ org }) => ({ org }),
  showModel: ({ org, modelId }) => ({ org, id: modelId }),
  checkModel: ({ org }) => ({ org, urls: [...PUBLICATION.urls] }),
  checkChange: ({ org, model }) => ({ org, name: model, contextTokens: 1 }),
  changeModel: ({ org, model }) => ({ org, name: model, contextTokens: 1 }),
  startModel: ({ org, model }) => ({ org, name: model }),
  stopModel: ({ org, model }) => ({ org, name: model }),
  deleteModel: ({ org, model }) => ({ org, name: model }),
  showAttention: ({ org }) => ({ org }),
  showUsage: ({ org, keyId, modelId }) => ({ org, keyId, modelId }),
  showUsageOfStep: ({ org }) => ({ org, step: new Date().toISOString().slice(0, 10) }),
  listRequests: ({ org, keyId, modelId }) => ({ org, keyId, modelId }),
  showRequest: ({ org, requestId }) => ({ org, id: requestId }),
  showErrors: ({ org }) => ({ org, period: '30d' }),
  showRefusals: ({ org, keyId }) => ({ org, keyId, days: 30 }),
  listAudit: ({ org, eventId }) => ({ org, before: eventId }),
  createInvitation: ({ org }) => ({ org, email: 'new@example.com', role: 'viewer' }),
  listInvitations: ({ org }) => ({ org }),
  withdrawInvitation: ({ org, invitationId }) => ({ org, id: invitationId }),
  tryModel: ({ org }) => ({ org }),
  tryKey: ({ org, keyValue }) => ({ org, key: keyValue }),
  createPageKey: ({ org }) => ({ org, session: 'ses_x' }),
  endPageKey: ({ org, keyId }) => ({ org, id: keyId }),
};
export type WithinOrg = keyof typeof WITHIN_ORG;

/** Operations that name something in the organization, and change nothing if it does not exist. */
export const NAMING: readonly WithinOrg[] = [
  'setMemberRole',
  'removeMember',
  'createKey',
  'showKey',
  'revokeKey',
  'deleteKey',
  'showModel',
  'checkChange',
  'startModel',
  'stopModel',
  'deleteModel',
  'showUsage',
  'listRequests',
  'showRequest',
  'listAudit',
  'withdrawInvitation',
  'tryKey',
  'endPageKey',
];

/** What the actor sees, as text, with the target's names replaced. */
export async function outcome(
  control: Control,
  actor: Actor,
  operation: WithinOrg,
  target: Target,
): Promise<string> {
  type Operation = (actor: Actor, input: unknown) => Promise<unknown>;
  const result = await (control[operation] as Operation)(actor, WITHIN_ORG[operation](target));
  return Object.entries(target).reduce(
    (text, [name, value]) => text.replaceAll(value, `<${name}>`),
    JSON.stringify(result),
  );
}
