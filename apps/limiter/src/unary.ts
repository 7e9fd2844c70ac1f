import { type handleUnaryCall, type ServiceError, status } from '@grpc/grpc-js';
import type { LimiterHandlers } from '@tidegate/rpc';
import { readMonthLedger } from './admission/month.ts';
import type { Context } from './context.ts';
import type { NoticeHub } from './notices/hub.ts';
import { confirmSettlements } from './outbox/confirm.ts';
import { checkIds } from './session/ids.ts';
import { revokeKey } from './truth/seed.ts';
import type { Truth } from './truth/truth.ts';
import { Undecided } from './undecided.ts';

const HASH_BYTES = 32;
const OUTBOX_ID = /^\d{1,20}-\d{1,20}$/;
const MAX_CONFIRMED = 1_000;

export interface UnaryDeps {
  readonly context: Context;
  readonly truth: Truth;
  readonly notices: NoticeHub;
  readonly onFailed: (error: unknown) => void;
}

/** Each call answers only after it has done its work. */
export function unaryHandlers({
  context,
  truth,
  notices,
  onFailed,
}: UnaryDeps): Pick<LimiterHandlers, 'RefreshOrgs' | 'RevokeKey' | 'ConfirmSettlements' | 'GetMonth'> {
  const unary = <Q, A>(answer: (request: Q) => Promise<A>): handleUnaryCall<Q, A> => {
    return ({ request }, callback) => {
      answer(request).then(
        (reply) => callback(null, reply),
        (error: unknown) => {
          onFailed(error);
          callback(statusOf(error));
        },
      );
    };
  };
  return {
    RefreshOrgs: unary(async ({ orgIds }) => {
      checkIds(...orgIds);
      await truth.refreshOrgs(orgIds);
      await Promise.all(orgIds.map((orgId) => notices.tell({ orgChanged: { orgId } })));
      return {};
    }),
    RevokeKey: unary(async ({ orgId, keyId, keyHash }) => {
      checkIds(orgId, keyId);
      if (keyHash.length !== HASH_BYTES) throw new Undecided('bad_call', 'a hash has another length');
      await revokeKey(context, orgId, keyId, Buffer.from(keyHash));
      await notices.tell({ keyRevoked: { keyId } });
      return {};
    }),
    ConfirmSettlements: unary(async ({ settlements }) => {
      if (settlements.length > MAX_CONFIRMED) throw new Undecided('bad_call', 'too many settlements');
      for (const { orgId, outboxId } of settlements) {
        checkIds(orgId);
        if (!OUTBOX_ID.test(outboxId)) throw new Undecided('bad_call', 'an outbox id has another form');
      }
      await confirmSettlements(context, settlements);
      return {};
    }),
    GetMonth: unary(async ({ orgId }) => {
      checkIds(orgId);
      return readMonthLedger(context, truth, orgId);
    }),
  };
}

function statusOf(error: unknown): Partial<ServiceError> {
  if (!(error instanceof Undecided)) return { code: status.INTERNAL, details: 'internal error' };
  const code = error.reason === 'bad_call' ? status.INVALID_ARGUMENT : status.UNAVAILABLE;
  return { code, details: error.message };
}
