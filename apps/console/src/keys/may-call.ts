import { type MayCall, mayCallText } from '@tidegate/control';

/** How many names are shown in a row. */
const SHOWN = 3;

/**
 * What a key may call, short enough for a row of the list. If only one name would be left out, it
 * is shown.
 */
export function shortMayCall(mayCall: MayCall): string {
  const { all, models, deleted } = mayCall;
  const more = models.length - SHOWN + deleted;
  if (all || models.length <= SHOWN || more === 1) return mayCallText(mayCall);
  return `${models.slice(0, SHOWN).join(', ')} and ${more} more`;
}
