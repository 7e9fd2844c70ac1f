export type Role = 'owner' | 'member' | 'viewer';
export const ROLES = ['owner', 'member', 'viewer'] as const;

const EVERYONE: readonly Role[] = ROLES;
const MEMBERS: readonly Role[] = ['owner', 'member'];
const OWNERS: readonly Role[] = ['owner'];

/** What each role of an organization may do. Operators may do everything. */
export const POLICY = {
  'org.read': EVERYONE,
  'org.setPlan': OWNERS,
  'org.delete': OWNERS,
  'org.requireTwoFactor': OWNERS,
  'member.list': EVERYONE,
  'member.add': OWNERS,
  'member.invite': OWNERS,
  'member.setRole': OWNERS,
  'member.remove': OWNERS,
  'member.leave': EVERYONE,
  'key.list': EVERYONE,
  'key.create': OWNERS,
  'key.revoke': OWNERS,
  'key.delete': OWNERS,
  'model.list': EVERYONE,
  'model.try': MEMBERS,
  'model.publish': OWNERS,
  'model.change': OWNERS,
  'model.start': OWNERS,
  'model.stop': OWNERS,
  'model.delete': OWNERS,
  'usage.show': EVERYONE,
  'request.list': EVERYONE,
  'audit.list': EVERYONE,
  'audit.readAll': OWNERS,
} as const satisfies Record<string, readonly Role[]>;

export type Action = keyof typeof POLICY;
