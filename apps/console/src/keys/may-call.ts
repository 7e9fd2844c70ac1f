import { type MayCall, mayCallText } from '@tidegate/control';

/** How many names are shown in a row. */
const SHOWN = 3;

/**
 * What a key may call, short enough for a row of the list. If only one name would be left out, it
 * is shown. How many were deleted always is.
 */
export function shortMayCall(mayCall: MayCall): string {
  const { all, models, deleted } = mayCall;
  const more = models.length - SHOWN;
  if (all || more <= 1) return mayCallText(mayCall);
  const shown = `${models.slice(0, SHOWN).join(', ')} and ${more} more`;
  return deleted > 0 ? `${shown}, ${deleted} deleted` : shown;
}
