/** The token counts that a model reported, and the reservation that they must fit into. */
export interface ReportedUsage {
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
  readonly reservedTokens: number;
}

/**
 * Valid usage is non-negative integers that add up and fit the reservation. All else is missing.
 */
export const usageIsValid = ({ prompt, completion, total, reservedTokens }: ReportedUsage): boolean =>
  isCount(prompt) &&
  isCount(completion) &&
  isCount(total) &&
  prompt + completion === total &&
  total <= reservedTokens;

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
