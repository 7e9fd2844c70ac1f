import type { Answer } from './answer.ts';
import type { StandinRequest } from './request.ts';
import { usageOf } from './usage.ts';

const TOOL_CALLS = [{ id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } }];

/** The body of a whole answer, including the non-standard members that vLLM sends. */
export function wholeBody(request: StandinRequest, answer: Answer, id: string, createdS: number): object {
  const { behaviour } = request;
  return {
    id,
    object: 'chat.completion',
    created: createdS,
    model: request.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: behaviour['null-content'] ? null : [...answer.pieces].join(''),
          refusal: null,
          tool_calls: behaviour['tool-calls'] ? TOOL_CALLS : [],
          reasoning_content: behaviour.reasoning ? 'Thinking about it, as told.' : null,
        },
        logprobs: null,
        finish_reason: answer.finishReason,
        stop_reason: answer.stopReason,
      },
    ],
    service_tier: null,
    system_fingerprint: null,
    usage: usageOf(request, answer),
    prompt_logprobs: null,
    kv_transfer_params: null,
  };
}
