import { LimiterError } from '../limiter-error.ts';
import type { LimiterClock } from '../redis/clock.ts';
import type { Seeder } from './seeder.ts';

/** Four kinds of state may be missing, and the month may turn. */
const MAX_SCRIPT_RUNS = 6;

type Need = 'need_org' | 'need_key' | 'need_join' | 'need_month' | 'month_turned';

/** A `month_turned` comes with Redis' time. */
interface Reply {
  readonly kind: string;
  readonly nowUs?: number;
}

type Complete<R extends Reply> = R extends { readonly kind: infer K }
  ? [Exclude<K, Need>] extends [never]
    ? never
    : R & { readonly kind: Exclude<K, Need> }
  : never;

/**
 * Postgres has no such organization: it was deleted, with its keys and everything that was held
 * there.
 */
export interface NoOrg {
  readonly kind: 'no_org';
}
const NO_ORG: NoOrg = { kind: 'no_org' };

type Seeded<R extends Reply> =
  | Complete<R>
  | NoOrg
  | ('need_key' extends R['kind'] ? { readonly kind: 'key_invalid' } : never)
  | ('need_join' extends R['kind'] ? { readonly kind: 'lease_lost' } : never);

/** The organization, and the key, that a script is asked about. */
export interface Subject {
  readonly orgId: string;
  readonly keyId?: string;
  /** Registers the caller's instance in the organization. False: its lease is lost. */
  readonly join?: () => Promise<boolean>;
}

/**
 * Runs a script again and again, and seeds what it says is missing, until nothing is. A key that
 * Postgres does not know is invalid. Rejects with LimiterError.
 */
export async function untilSeeded<R extends Reply>(
  { seeder, clock }: { readonly seeder: Seeder; readonly clock: LimiterClock },
  { orgId, keyId, join }: Subject,
  ask: () => Promise<R>,
): Promise<Seeded<R>> {
  for (let attempt = 0; attempt < MAX_SCRIPT_RUNS; attempt++) {
    const reply: Reply = await ask();
    switch (reply.kind as Need) {
      case 'need_org':
        if (await seeder.seedOrg(orgId)) break;
        return NO_ORG as Seeded<R>;
      case 'need_key':
        if (keyId === undefined || !(await seeder.seedKey(orgId, keyId)))
          return { kind: 'key_invalid' } as Seeded<R>;
        break;
      case 'need_join':
        if (!(await join?.())) return { kind: 'lease_lost' } as Seeded<R>;
        break;
      case 'need_month':
        await seeder.seedMonth(orgId, clock.month().name);
        break;
      case 'month_turned':
        clock.observe(Number(reply.nowUs));
        break;
      default:
        return reply as Seeded<R>;
    }
  }
  throw new LimiterError('state', 'state is missing again after it was seeded');
}
