import type { Actor } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { type Done, ok } from '../result.ts';
import { unreached } from '../unreached.ts';

const ORGS_A_CALL = 500;

/** Makes the limiter apply limits that were just committed. Safe to repeat. */
export async function applyLimits<T>(
  { limiter }: Pick<ControlDeps, 'limiter'>,
  actor: Actor,
  orgIds: readonly string[],
  value: T,
): Promise<Done<T>> {
  try {
    for (let i = 0; i < orgIds.length; i += ORGS_A_CALL) {
      await limiter.refreshOrgs(orgIds.slice(i, i + ORGS_A_CALL));
    }
    return ok(value);
  } catch (error) {
    const notInForce = `The change is saved but not in force yet: ${unreached('limiter', error, actor)}. It takes effect within a minute of the limiter being back.`;
    return { ...ok(value), notInForce };
  }
}
