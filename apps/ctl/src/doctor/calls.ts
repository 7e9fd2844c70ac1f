import { newOrgId, newRequestId } from '@tidegate/contracts';
import { callFailure } from '@tidegate/rpc/call-failure';
import type { PoolAddress, ServiceIdentity } from '@tidegate/runtime/settings';
import type { Waits } from '../context.ts';
import { type Finding, fine, some, wrong } from './report.ts';

export interface Called {
  readonly limiters: readonly string[];
  readonly runners: readonly PoolAddress[];
  readonly caller: ServiceIdentity;
  readonly waits: Waits;
}

/** A screen waits less long, but here a late answer would be reported as a fault. */
const SHOWN_MS = 5_000;

/** Whether limiters and runners answer ctl. Asks for something that cannot exist. */
export async function callFindings({ limiters, runners, caller, waits }: Called): Promise<Finding[]> {
  const { DEADLINES, limiterOverGrpc, runnerOverGrpc } = await import('@tidegate/control');
  const patience = { deadlines: { ...DEADLINES, shownMs: SHOWN_MS }, ...waits };
  const ofLimiters = limiters.map(async (address) => {
    const limiter = limiterOverGrpc([address], caller, patience);
    const asked = limiter.findRequest(newOrgId(), newRequestId());
    return problemOf(address, asked).finally(() => limiter.close());
  });
  const ofRunners = runners.map(async ({ pool, address }) => {
    const runner = runnerOverGrpc([{ pool, address }], caller, patience);
    const asked = runner.activity(newOrgId());
    return problemOf(`pool ${pool} at ${address}`, asked).finally(() => runner.close());
  });
  const found = async (check: string, variable: string, asked: readonly Promise<string | null>[]) => {
    const problems = (await Promise.all(asked)).flatMap((problem) => problem ?? []);
    if (problems.length === 0) return fine(check, `all ${asked.length} addresses in ${variable} answer`);
    return wrong(
      check,
      some(problems),
      `Check that ${variable} is right, that the service runs, and that its SERVICE_TOKENS contain ctl's SERVICE_TOKEN. Its /readyz and its log say more.`,
    );
  };
  return Promise.all([
    found('limiters', 'LIMITER_ADDRESSES', ofLimiters),
    found('runner calls', 'RUNNER_ADDRESS', ofRunners),
  ]);
}

/** Null: there was an answer. */
const problemOf = (who: string, asked: Promise<unknown>): Promise<string | null> =>
  asked.then(
    () => null,
    (error) => `${who}: ${callFailure(error)}`,
  );
