import type { Role } from '@tidegate/control';

export interface Screen {
  readonly path: string;
  readonly name: string;
  readonly icon: string;
  /** Who sees it. Absent: everyone. */
  readonly roles?: readonly Role[];
}

const SCREENS: readonly Screen[] = [
  { path: 'keys', name: 'Keys', icon: 'icon-key-round' },
  { path: 'api', name: 'API', icon: 'icon-boxes' },
  { path: 'usage', name: 'Usage', icon: 'icon-chart-column' },
  { path: 'try', name: 'Try it', icon: 'icon-message-square', roles: ['owner', 'member'] },
  { path: 'requests', name: 'Requests', icon: 'icon-list' },
  { path: 'plan', name: 'Plan', icon: 'icon-gauge' },
  { path: 'members', name: 'Members', icon: 'icon-users' },
  { path: 'audit', name: 'Audit', icon: 'icon-scroll-text' },
];

export const screensFor = (role: Role): readonly Screen[] =>
  SCREENS.filter(({ roles }) => roles === undefined || roles.includes(role));
