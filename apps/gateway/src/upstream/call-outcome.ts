import type { Ending } from '../ending.ts';

/** How one call to a replica ended. */
export type CallOutcome =
  | Ending
  /** The replica answered nothing. `connected`: the connection was established, then lost. */
  | { readonly kind: 'unreached'; readonly connected: boolean };
