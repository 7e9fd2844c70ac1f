/** What every part of one answer carries, and the bound for its usage. */
export interface AnswerIdentity {
  readonly completionId: string;
  readonly createdS: number;
  /** The published name. */
  readonly model: string;
  readonly reservedTokens: number;
}

/**
 * The limits of an answer apply to what is relayed. A model may send this many times as much before
 * it is cut off, so that an endless answer is not read forever. JSON may spell a two-byte character
 * in six bytes, which is a factor of 3. The rest leaves room for fields that are dropped.
 */
export const RECEIVED_PER_RELAYED = 4;

/** The choice that is relayed: the one with index 0 or without an index. All others are ignored. */
export function answerIn<Choice extends { readonly index?: unknown }>(
  choices: readonly (Choice | null | undefined)[],
): Choice | undefined {
  for (const choice of choices) if (choice && (choice.index ?? 0) === 0) return choice;
  return undefined;
}
