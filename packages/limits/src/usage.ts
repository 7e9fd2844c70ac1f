/** The token counts that a model reported, and the reservation that they must fit into. */
export interface ReportedUsage {
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
  readonly reservedTokens: number;
}

/**
 * Valid usage is non-negative integers that add up and fit the reservation. Anything else counts as
 * missing.
 */
export const usageIsValid = ({ prompt, completion, total, reservedTokens }: ReportedUsage): boolean =>
  isCount(prompt) &&
  isCount(completion) &&
  isCount(total) &&
  prompt + completion === total &&
  total <= reservedTokens;

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

export interface SettledRequest {
  readonly answered: boolean;
  readonly usage: { readonly prompt: number; readonly completion: number } | null;
}

/** The usage that sets a request's charge. Null: no complete answer, or no valid usage. */
export function countedUsage(
  reservedTokens: number,
  { answered, usage }: SettledRequest,
): SettledRequest['usage'] {
  if (!answered || !usage) return null;
  const { prompt, completion } = usage;
  return usageIsValid({ prompt, completion, total: prompt + completion, reservedTokens }) ? usage : null;
}

/** The charge of a request that ended: the tokens used, or else the full reservation. */
export function charge(reservedTokens: number, end: SettledRequest): number {
  const counted = countedUsage(reservedTokens, end);
  return counted ? counted.prompt + counted.completion : reservedTokens;
}
