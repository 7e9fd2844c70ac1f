import type { ModelSpec } from '../catalog/spec.ts';

/** A model that tests start from. They choose its driver. */
export const A_MODEL: ModelSpec = {
  version: 1,
  modelId: 'mdl_1',
  orgId: 'org_1',
  name: 'one',
  kind: 'text',
  mode: 'wake_on_request',
  contextTokens: 1,
  publishedAtMs: 0,
  sleepAfterMs: 1,
  access: { name: 'one', nameAssumed: true, key: '' },
  cost: 0,
  pinned: false,
  driver: { driver: 'unusable', reason: '' },
};
