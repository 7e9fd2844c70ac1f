import { REHEARSAL } from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import type {
  Admit__Output,
  Authenticate__Output,
  Call__Output,
  Reply,
  ReportInvalidKey__Output,
  Restore__Output,
  Settle__Output,
  TakeLargeBody__Output,
} from '@tidegate/rpc';
import type { Admissions } from '../admission/admissions.ts';
import type { Decision } from '../admission/decision.ts';
import type { AdmissionRef } from '../admission/ref.ts';
import type { RequestEnd } from '../admission/settle.ts';
import { authenticate } from '../keys/authenticate.ts';
import { sendHeartbeat } from '../leases/lease.ts';
import { LimiterError } from '../limiter-error.ts';
import type { NoticeHub } from '../notices/hub.ts';
import type { RefusalWriter } from '../refusals/writer.ts';
import type { ScriptDeps } from '../script-deps.ts';
import type { Seeder } from '../seeding/seeder.ts';
import { reportInvalidKey } from '../throttle/invalid-keys.ts';
import { checkAddress, checkErrorCode, checkHash, checkIds } from './ids.ts';
import { admissionOutcome, authenticateOutcome, msOf } from './outcomes.ts';

const LARGE_BODY_RESULTS = {
  taken: 'RESULT_TAKEN',
  full: 'RESULT_FULL',
  lease_lost: 'RESULT_LEASE_LOST',
  recovering: 'RESULT_RECOVERING',
} as const;

export interface DispatchDeps extends ScriptDeps {
  readonly admissions: Admissions;
  readonly seeder: Seeder;
  readonly notices: NoticeHub;
  readonly refusals: RefusalWriter;
}

/** A reply without its call id. */
export type ReplyContent = Omit<Reply, 'callId'>;

/** Answers one call of a session. Rejects with LimiterError. */
export async function dispatch(deps: DispatchDeps, call: Call__Output): Promise<ReplyContent> {
  const { admissions } = deps;
  if (call.admit) return admit(deps, call.admit);
  if (call.settle) return settle(deps, call.settle, call.traceparent);
  if (call.reserve) return { admission: admissionOutcome(await reserve(deps, call.reserve)) };
  if (call.withdraw) {
    await admissions.withdraw(refOf(call.withdraw));
    return { withdraw: {} };
  }
  if (call.authenticate) return answerAuthenticate(deps, call.authenticate);
  if (call.countRequest) {
    const { orgId, keyId } = call.countRequest;
    checkIds(orgId, keyId);
    return { admission: admissionOutcome(await admissions.countRequest(orgId, keyId)) };
  }
  if (call.heartbeat) {
    const { instanceId, registered } = call.heartbeat;
    checkIds(instanceId);
    const lease = await sendHeartbeat(deps, instanceId, registered);
    return { heartbeat: { leaseLost: lease === 'lease_lost', leaseUnknown: lease === 'lease_unknown' } };
  }
  if (call.restore) return restore(deps, call.restore);
  if (call.takeLargeBody) return takeLargeBody(deps, call.takeLargeBody);
  if (call.releaseLargeBody) {
    await admissions.releaseLargeBody(refOf(call.releaseLargeBody));
    return { releaseLargeBody: {} };
  }
  if (call.reportInvalidKey) return report(deps, call.reportInvalidKey);
  if (call.reportRefusals) {
    await deps.refusals.write(call.reportRefusals);
    return { reportRefusals: {} };
  }
  throw new LimiterError('bad_call', 'an unknown call');
}

function refOf({ orgId, instanceId, admissionId }: AdmissionRef): AdmissionRef {
  checkIds(orgId, instanceId, admissionId);
  return { orgId, instanceId, admissionId };
}

async function admit({ admissions }: DispatchDeps, call: Admit__Output): Promise<ReplyContent> {
  checkIds(call.orgId, call.keyId, call.instanceId, call.admissionId, call.modelId);
  return { admission: admissionOutcome(await admissions.admit(call)) };
}

/**
 * A rehearsed reservation finds no admission to reserve for. It is answered as if it had found one,
 * so that the gateway reads the same reply as for a real reservation.
 */
async function reserve({ admissions }: DispatchDeps, call: AdmissionRef): Promise<Decision> {
  const decision = await admissions.reserve(refOf(call));
  return call.orgId === REHEARSAL ? { kind: 'admitted', nowUs: Date.now() * 1_000, window: null } : decision;
}

async function settle(
  { admissions }: DispatchDeps,
  call: Settle__Output,
  traceparent: string,
): Promise<ReplyContent> {
  await admissions.settle(refOf(call), requestEndOf(call), traceparent);
  return { settle: {} };
}

function requestEndOf(call: Settle__Output): RequestEnd {
  const { answered, usageValid, promptTokens, completionTokens, durationMs, firstChunkMs } = call;
  if (!answered) checkErrorCode(call.errorCode);
  return {
    answered,
    usage: usageValid ? { promptTokens, completionTokens } : null,
    durationMs,
    errorCode: answered ? null : call.errorCode,
    // An older gateway does not say, which reads as 0.
    firstChunkMs: firstChunkMs || null,
  };
}

async function answerAuthenticate(deps: DispatchDeps, call: Authenticate__Output): Promise<ReplyContent> {
  checkIds(call.orgTag);
  checkHash(call.keyHash);
  const principal = await authenticate(deps, deps.seeder, call.orgTag, Buffer.from(call.keyHash));
  return { authenticate: authenticateOutcome(principal) };
}

async function takeLargeBody(
  { admissions }: DispatchDeps,
  call: TakeLargeBody__Output,
): Promise<ReplyContent> {
  const reply = await admissions.takeLargeBody(refOf(call), call.restore);
  const retryAfterMs = reply.kind === 'recovering' ? msOf(reply.waitUs) : 0;
  return { takeLargeBody: { result: LARGE_BODY_RESULTS[reply.kind], retryAfterMs } };
}

async function restore({ admissions }: DispatchDeps, call: Restore__Output): Promise<ReplyContent> {
  checkIds(call.orgId, call.instanceId, call.admissionId, call.keyId, call.modelId);
  if (call.reservedAtMs < 0 || call.admittedAtMs <= 0)
    throw new LimiterError('bad_call', 'a time is missing');
  if (call.settle) {
    await admissions.restoreSettled(call, requestEndOf(call.settle));
    return { restore: {} };
  }
  return { restore: { leaseLost: (await admissions.restore(call)) === 'lease_lost' } };
}

async function report(deps: DispatchDeps, { address }: ReportInvalidKey__Output): Promise<ReplyContent> {
  checkAddress(address);
  const counted = await reportInvalidKey(deps, address);
  if (counted.kind === 'counted_and_blocked') {
    const notice = { addressBlocked: { address, remainingMs: LIMITS.invalidKeyBlockMs } };
    // The gateway that asks must block the address before it answers, even if what is published
    // does not come back.
    deps.notices.tell(notice);
    await deps.notices.publish(notice);
  }
  return {
    reportInvalidKey: { blockedRemainingMs: counted.kind === 'blocked' ? counted.remainingMs : 0 },
  };
}
