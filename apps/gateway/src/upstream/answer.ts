/** What every part of one answer carries, and what its usage must fit. */
export interface AnswerIdentity {
  readonly completionId: string;
  readonly createdS: number;
  /** The published name. */
  readonly model: string;
  readonly reservedTokens: number;
}

/**
 * The limits of an answer are those of what is relayed. A model may send so many times as much before it is cut off, so
 * that one which never ends is not read for ever: JSON may spell a character of two bytes in six, which is three times as
 * much, and what is left has room for the fields that are dropped.
 */
export const RECEIVED_PER_RELAYED = 4;

/** The choice that is the answer: the one of index 0, or without an index. All others are ignored. */
export function answerIn<Choice extends { readonly index?: unknown }>(
  choices: readonly (Choice | null | undefined)[],
): Choice | undefined {
  for (const choice of choices) if (choice && (choice.index ?? 0) === 0) return choice;
  return undefined;
}
