import type { Role } from '@tidegate/control';

export const ROLE_OPTIONS: readonly { readonly id: Role; readonly text: string; readonly hint: string }[] = [
  { id: 'owner', text: 'Owner', hint: 'Manages keys, models, members and the plan' },
  { id: 'member', text: 'Member', hint: 'Sees everything and can try models' },
  { id: 'viewer', text: 'Viewer', hint: 'Sees everything' },
];
