import { type handleUnaryCall, type ServiceError, status } from '@grpc/grpc-js';
import type { LimiterHandlers } from '@tidegate/rpc';
import { readMonthLedger } from './admission/month.ts';
import type { DeletedOrgs } from './deletion/deleted-orgs.ts';
import { LimiterError } from './limiter-error.ts';
import type { NoticeHub } from './notices/hub.ts';
import { confirmSettlements } from './outbox/confirm.ts';
import { findRequest } from './outbox/find.ts';
import type { ScriptDeps } from './script-deps.ts';
import { revokeKey } from './seeding/seed.ts';
import type { Seeder } from './seeding/seeder.ts';
import { checkHash, checkIds } from './session/ids.ts';

const OUTBOX_ID = /^\d{1,20}-\d{1,20}$/;
const MAX_CONFIRMED = 1_000;
const STATES = { open: 'STATE_OPEN', queued: 'STATE_QUEUED', unknown: 'STATE_UNKNOWN' } as const;

export interface UnaryDeps {
  readonly scriptDeps: ScriptDeps;
  readonly seeder: Seeder;
  readonly notices: NoticeHub;
  readonly deletedOrgs: DeletedOrgs;
  readonly onFailed: (error: unknown) => void;
}

/** Each call answers only after it has done its work. */
export function unaryHandlers({
  scriptDeps,
  seeder,
  notices,
  deletedOrgs,
  onFailed,
}: UnaryDeps): Pick<
  LimiterHandlers,
  'RefreshOrgs' | 'RevokeKey' | 'ForgetOrg' | 'ConfirmSettlements' | 'GetMonth' | 'FindRequest'
> {
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
      await seeder.refreshOrgs(orgIds);
      await Promise.all(orgIds.map((orgId) => notices.publish({ orgChanged: { orgId } })));
      return {};
    }),
    RevokeKey: unary(async ({ orgId, keyId, keyHash }) => {
      checkIds(orgId, keyId);
      checkHash(keyHash);
      await revokeKey(scriptDeps, orgId, keyId, Buffer.from(keyHash));
      await notices.publish({ keyRevoked: { keyId } });
      return {};
    }),
    ForgetOrg: unary(async ({ orgId }) => {
      checkIds(orgId);
      if (!(await seeder.isDeleted(orgId)))
        throw new LimiterError('bad_call', 'this organization was not deleted');
      await deletedOrgs.forget(orgId);
      return {};
    }),
    ConfirmSettlements: unary(async ({ settlements }) => {
      if (settlements.length > MAX_CONFIRMED) throw new LimiterError('bad_call', 'too many settlements');
      for (const { orgId, outboxId } of settlements) {
        checkIds(orgId);
        if (!OUTBOX_ID.test(outboxId)) throw new LimiterError('bad_call', 'an outbox id is malformed');
      }
      await confirmSettlements(scriptDeps, settlements);
      return {};
    }),
    GetMonth: unary(async ({ orgId }) => {
      checkIds(orgId);
      return readMonthLedger(scriptDeps, seeder, orgId);
    }),
    FindRequest: unary(async ({ orgId, admissionId }) => {
      checkIds(orgId, admissionId);
      return { state: STATES[await findRequest(scriptDeps, orgId, admissionId)] };
    }),
  };
}

function statusOf(error: unknown): Partial<ServiceError> {
  if (!(error instanceof LimiterError)) return { code: status.INTERNAL, details: 'internal error' };
  const code = error.reason === 'bad_call' ? status.INVALID_ARGUMENT : status.UNAVAILABLE;
  return { code, details: error.message };
}
