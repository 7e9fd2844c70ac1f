import type { Answer } from './answer.ts';
import type { StandinRequest } from './request.ts';

/** The usage in vLLM's form. Null: the stand-in is to report none. */
export function usageOf({ behaviour, promptTokens }: StandinRequest, answer: Answer): object | null {
  if (behaviour['no-usage']) return null;
  const [prompt, completion, total] = behaviour.usage ?? [
    promptTokens,
    answer.tokens,
    promptTokens + answer.tokens,
  ];
  return {
    prompt_tokens: prompt,
    total_tokens: total,
    completion_tokens: completion,
    prompt_tokens_details: null,
  };
}
