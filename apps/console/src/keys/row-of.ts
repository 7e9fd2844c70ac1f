import { type KeyView, limitsText, mayCallText } from '@tidegate/control';
import { shortMayCall } from './may-call.ts';
import type { KeyTableRow } from './rows.ts';

export const keyRowOf = (key: KeyView): KeyTableRow => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  state: key.state,
  requestsPerMinute: key.requestsPerMinute,
  requestsAtOnce: key.requestsAtOnce,
  lastUsedAt: key.lastUsedAt,
  expiresOn: key.expiresOn,
  expiresAt: key.expiresAt,
  mayCallText: mayCallText(key.mayCall),
  mayCallShort: shortMayCall(key.mayCall),
  limitsText: limitsText(key),
});
