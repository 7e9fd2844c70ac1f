import type { Admissions } from '../admission/admissions.ts';
import { largeBodyOf } from '../admission/large-body.ts';
import { WITHDRAWN } from '../redis/names.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { reapOrg } from './lease.ts';

const RECORDS_PER_STEP = 100;

export interface LeftoversDeps extends ScriptDeps {
  readonly admissions: Pick<Admissions, 'settle' | 'releaseLargeBody'>;
  readonly onReaped: (counts: { readonly settled: number; readonly withdrawn: number }) => void;
}

/**
 * Fences a dead instance in an organization and ends a bounded part of what it left there. Resolves
 * to true if nothing is left.
 */
export async function endOpenRecords(
  deps: LeftoversDeps,
  instanceId: string,
  orgId: string,
): Promise<boolean> {
  const left = await reapOrg(deps, instanceId, orgId, RECORDS_PER_STEP);
  if (!left) return true;
  const ended = await Promise.all(
    left.map(({ field, record }) => end(deps, instanceId, orgId, field, record)),
  );
  const settled = ended.filter((end) => end === 'settled').length;
  const withdrawn = ended.filter((end) => end === 'withdrawn').length;
  deps.onReaped({ settled, withdrawn });
  return false;
}

async function end(
  { admissions }: LeftoversDeps,
  instanceId: string,
  orgId: string,
  field: string,
  record: string,
): Promise<'settled' | 'withdrawn' | 'nothing'> {
  if (record === WITHDRAWN) return 'nothing';
  const largeId = largeBodyOf(field);
  if (largeId !== null) {
    await admissions.releaseLargeBody({ orgId, instanceId, admissionId: largeId });
    return 'nothing';
  }
  const ref = { orgId, instanceId, admissionId: field };
  // This also withdraws an admission that was not reserved.
  const settled = await admissions.settle(ref, {
    answered: false,
    usage: null,
    durationMs: null,
    errorCode: 'gateway_lost',
    firstChunkMs: null,
  });
  return settled ? 'settled' : 'withdrawn';
}
