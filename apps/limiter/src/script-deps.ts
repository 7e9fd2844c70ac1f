import type { LimiterClock } from './redis/clock.ts';
import type { KeyNames } from './redis/names.ts';
import type { Store } from './redis/store.ts';

/** What the wrapper of every script needs. */
export interface ScriptDeps {
  readonly store: Store;
  readonly names: KeyNames;
  readonly clock: LimiterClock;
}
