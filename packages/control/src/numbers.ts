/** Throws RangeError beyond what a number holds exactly (2^53 - 1): a wrong count is never returned. */
export function toNumber(value: bigint | number | null): number {
  const number = Number(value ?? 0);
  if (!Number.isSafeInteger(number)) throw new RangeError(`count out of range: ${value}`);
  return number;
}
