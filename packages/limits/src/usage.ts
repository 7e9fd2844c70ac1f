/** The token counts that a model reported, and the reservation they must fit. */
export interface ReportedUsage {
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
  readonly reservedTokens: number;
}

/** Valid usage: non-negative integers that add up and fit the reservation. Anything else counts as missing. */
export const usageIsValid = ({ prompt, completion, total, reservedTokens }: ReportedUsage): boolean =>
  isCount(prompt) &&
  isCount(completion) &&
  isCount(total) &&
  prompt + completion === total &&
  total <= reservedTokens;

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
