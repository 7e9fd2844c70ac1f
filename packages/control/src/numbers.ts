const NUMBER = new Intl.NumberFormat('en-US');

/** As users see it: `1,000`. */
export const numberText = (value: number): string => NUMBER.format(value);

/** Converts a count. @throws RangeError if a number cannot hold it exactly (over 2^53 - 1) */
export function toNumber(value: bigint | number | null): number {
  const number = Number(value ?? 0);
  if (!Number.isSafeInteger(number)) throw new RangeError(`count out of range: ${value}`);
  return number;
}
