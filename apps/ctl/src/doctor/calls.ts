import { newOrgId, newRequestId } from '@tidegate/contracts';
import type { PoolAddress, ServiceIdentity } from '@tidegate/runtime/settings';
import type { Waits } from '../context.ts';
import { type Finding, fine, some, wrong } from './report.ts';

export interface Called {
  readonly limiters: readonly string[];
  readonly runners: readonly PoolAddress[];
  readonly caller: ServiceIdentity;
  readonly waits: Waits;
}

/** Whether limiters and runners answer ctl. Asks for what cannot be there. */
export async function callFindings({ limiters, runners, caller, waits }: Called): Promise<Finding[]> {
  const { limiterOverGrpc, runnerOverGrpc } = await import('@tidegate/control');
  const ofLimiters = limiters.map(async (address) => {
    const limiter = limiterOverGrpc([address], caller, waits);
    const asked = limiter.findRequest(newOrgId(), newRequestId());
    return problemOf(address, asked).finally(() => limiter.close());
  });
  const ofRunners = runners.map(async ({ pool, address }) => {
    const runner = runnerOverGrpc([{ pool, address }], caller, waits);
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
    ({ details, message }) => `${who}: ${details ?? message}`,
  );
