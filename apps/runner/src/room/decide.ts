/** A model that has room: it runs, is being started, or is being ended. */
export interface Holder {
  readonly modelId: string;
  /** What it holds. */
  readonly cost: number;
  readonly alwaysOn: boolean;
  /** It never gives way, but its owner may stop it. */
  readonly pinned: boolean;
  /** It is being ended, so its room comes back soon. */
  readonly leaving: boolean;
  /** It may be put to sleep: nobody uses it, and nothing keeps it. */
  readonly yields: boolean;
  readonly lastUsedMs: number;
}

/** A model that is to start. */
export interface Wanting {
  readonly modelId: string;
  readonly cost: number;
  readonly alwaysOn: boolean;
  readonly waitedMs: number;
}

/** Model ids. */
export interface RoomDecision {
  readonly start: readonly string[];
  /** To put to sleep. Their room comes back when they are ended. */
  readonly sleep: readonly string[];
  /** These can never have room beside the always-on models. */
  readonly refuse: readonly string[];
  /** The model that all later ones wait for. Null: there is none. */
  readonly first: string | null;
}

/**
 * Decides which models of a pool start and which give way. Pure. Models start in the order of
 * `wanting`, always-on models too. Free room and room that is coming back go to earlier models
 * first. If it is not enough, idle models give way, the least recently used first, and only as many
 * as are needed.
 *
 * A model for which no room can be made at the moment is passed over, until it has waited for
 * `patienceMs`. From then on nothing that comes after it starts before it, and idle models give way
 * one by one, because the others may never be idle at the same moment. A model that has no room
 * beside pinned models is passed over for as long as those stay.
 */
export function decide(
  capacity: number,
  holders: readonly Holder[],
  wanting: readonly Wanting[],
  patienceMs: number,
): RoomDecision {
  const start: string[] = [];
  const sleep: string[] = [];
  const refuse: string[] = [];
  let first: string | null = null;
  let permanent = permanentIn(holders);
  const pinned = sum(holders.filter((holder) => holder.pinned && !holder.alwaysOn && !holder.leaving));
  const unused = capacity - sum(holders);
  let free = Math.max(0, unused);
  // What models hold beyond the capacity must come back first.
  let coming = sum(holders.filter(({ leaving }) => leaving)) + Math.min(0, unused);
  let idle = holders
    .filter(({ yields, leaving }) => yields && !leaving)
    .sort((a, b) => a.lastUsedMs - b.lastUsedMs);
  for (const one of wanting) {
    if (one.cost > capacity - permanent) {
      refuse.push(one.modelId);
      continue;
    }
    if (one.cost <= free) {
      start.push(one.modelId);
      free -= one.cost;
      if (one.alwaysOn) permanent += one.cost;
      continue;
    }
    const yielding = leastRecentlyUsed(idle, one.cost - free - coming);
    if (yielding === null) {
      if (one.cost > capacity - permanent - pinned) continue;
      if (one.waitedMs < patienceMs) continue;
      sleep.push(...idle.filter(({ cost }) => cost > 0).map(({ modelId }) => modelId));
      first = one.modelId;
      break;
    }
    idle = idle.filter((holder) => !yielding.includes(holder));
    sleep.push(...yielding.map(({ modelId }) => modelId));
    coming += sum(yielding);
    // Free room can be used now, so as little of it as possible is kept for later.
    const fromComing = Math.min(coming, one.cost);
    coming -= fromComing;
    free -= one.cost - fromComing;
  }
  return { start, sleep, refuse, first };
}

/** What always-on models hold until someone stops them. */
const permanentIn = (holders: readonly Holder[]): number =>
  sum(holders.filter(({ alwaysOn, leaving }) => alwaysOn && !leaving));

const sum = (models: readonly { readonly cost: number }[]): number =>
  models.reduce((total, { cost }) => total + cost, 0);

/** Those that together give `needed` room. Null: all of them together are not enough. */
function leastRecentlyUsed(idle: readonly Holder[], needed: number): readonly Holder[] | null {
  let chosen: Holder[] = [];
  for (const holder of idle) {
    if (sum(chosen) >= needed) break;
    if (holder.cost > 0) chosen.push(holder);
  }
  if (sum(chosen) < needed) return null;
  // A larger one that was chosen last may make earlier ones unnecessary: the most recently used
  // stay.
  for (const holder of [...chosen].reverse())
    if (sum(chosen) - holder.cost >= needed) chosen = chosen.filter((one) => one !== holder);
  return chosen;
}
