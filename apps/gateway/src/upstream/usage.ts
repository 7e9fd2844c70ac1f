import { usageIsValid } from '@tidegate/limits';

/** The token counts of one answer, as reported by the model and checked. */
export interface AnswerUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** What a model reports. `usageIsValid` checks that these are numbers. */
type UsageMember = Readonly<Record<'prompt_tokens' | 'completion_tokens' | 'total_tokens', number>>;

/**
 * The usage of an upstream answer. Null if it is missing, does not add up or does not fit the
 * reservation.
 */
export function validUsage(reported: unknown, reservedTokens: number): AnswerUsage | null {
  if (typeof reported !== 'object' || reported === null) return null;
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens } = reported as UsageMember;
  // Some models leave it out.
  const total = total_tokens ?? prompt + completion;
  if (!usageIsValid({ prompt, completion, total, reservedTokens })) return null;
  return { promptTokens: prompt, completionTokens: completion };
}

/** The `usage` member of an answer, as JSON. */
export const usageJson = (usage: AnswerUsage | null): string =>
  usage === null
    ? 'null'
    : `{"prompt_tokens":${usage.promptTokens},"completion_tokens":${usage.completionTokens},"total_tokens":${usage.promptTokens + usage.completionTokens}}`;

export type FinishReason = 'stop' | 'length';

/** What vLLM, SGLang and others report for an answer that they gave up in the middle. */
const CUT_OFF: ReadonlySet<unknown> = new Set(['abort', 'aborted', 'cancelled', 'error']);
export const isCutOff = (reported: unknown): boolean => CUT_OFF.has(reported);

/**
 * The contract has two finish reasons. Anything else that a model reports becomes `stop`. Null if
 * the model has not finished its answer.
 */
export const finishReason = (reported: unknown): FinishReason | null => {
  if (reported === null || reported === undefined || reported === '' || isCutOff(reported)) return null;
  return reported === 'length' ? 'length' : 'stop';
};
