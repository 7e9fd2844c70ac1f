import { LIMITS } from '@tidegate/limits';
import { unexpected } from '../admission/decision.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';

/** The most blocks that are sent to a new session. */
const MAX_LISTED = 10_000;

export interface Blocked {
  readonly address: string;
  readonly remainingMs: number;
}

export type InvalidKeyReport =
  | { readonly kind: 'counted' | 'counted_and_blocked' }
  | { readonly kind: 'blocked'; readonly remainingMs: number };

export async function reportInvalidKey(
  { store, names, clock }: ScriptDeps,
  address: string,
): Promise<InvalidKeyReport> {
  const reply = await store.run(
    SCRIPTS.reportInvalidKey,
    [names.bad(address), names.blocked],
    [clock.offsetUs, address, LIMITS.invalidKeyPerMinute, LIMITS.invalidKeyBlockMs],
  );
  const [kind, remainingUs] = reply;
  if (kind === 'counted' || kind === 'counted_and_blocked') return { kind };
  if (kind === 'blocked') return { kind, remainingMs: Math.ceil(Number(remainingUs) / 1_000) };
  throw unexpected(reply);
}

/** The current blocks, longest remaining first. */
export async function blockedAddresses({ store, names, clock }: ScriptDeps): Promise<Blocked[]> {
  const [time, flat] = (await Promise.all([
    store.commandAt(names.blocked, 'time'),
    store.command('zrevrange', names.blocked, 0, MAX_LISTED - 1, 'WITHSCORES'),
  ])) as [[string, string], (string | number | [string, number])[]];
  const nowUs = Number(time[0]) * 1e6 + Number(time[1]) + clock.offsetUs;
  const blocks: Blocked[] = [];
  for (const [address, untilUs] of pairs(flat)) {
    const remainingMs = Math.ceil((Number(untilUs) - nowUs) / 1_000);
    if (remainingMs > 0) blocks.push({ address: String(address), remainingMs });
  }
  return blocks;
}

/** Scores come in pairs with their members, or flat in an older protocol. */
function pairs(reply: readonly (string | number | readonly [string, number])[]): [string, number][] {
  const flat = reply.flat();
  return Array.from({ length: flat.length / 2 }, (_, i) => [String(flat[2 * i]), Number(flat[2 * i + 1])]);
}
