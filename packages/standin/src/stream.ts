import type { Answer } from './answer.ts';
import { faultAfter, faultOf, INBAND_ERROR, type StandinFault } from './fault.ts';
import type { StandinRequest } from './request.ts';
import { usageOf } from './usage.ts';

/** An event's data, milliseconds to wait, a wait for the release, or how the stream breaks off. */
export type Step = string | number | typeof HELD | { readonly fault: StandinFault };

export const HELD = Symbol('held');

const GARBAGE = '{"id": "chatcmpl-';

/** Yields a streamed answer step by step, in vLLM's form. */
export function* streamSteps(
  request: StandinRequest,
  answer: Answer,
  id: string,
  createdS: number,
): Generator<Step> {
  const { behaviour } = request;
  const chunk = chunkWriter(request, id, createdS);
  const tokenMs = behaviour['token-ms'] ?? 0;
  const fault = faultOf(behaviour);
  const breaksAfter = fault ? faultAfter(behaviour, answer.tokens) : -1;
  const usage = usageOf(request, answer);

  if (behaviour['delay-ms']) yield behaviour['delay-ms'];
  let opened = !behaviour['merged-first'];
  if (opened) yield chunk.delta('{"role":"assistant","content":""}');
  if (behaviour.held) yield HELD;
  if (behaviour.reasoning)
    yield* ['Thinking', ' about it.'].map((text) =>
      chunk.delta(`{"reasoning_content":${JSON.stringify(text)}}`),
    );
  if (behaviour['event-bytes']) yield chunk.ofBytes(behaviour['event-bytes']);

  let sent = 0;
  for (const piece of answer.pieces) {
    if (fault && sent === breaksAfter) {
      yield* breakOff(fault);
      if (fault === 'inband-error') return;
    }
    if (tokenMs > 0 && sent > 0) yield tokenMs;
    yield opened
      ? chunk.token(piece)
      : chunk.delta(`{"role":"assistant","content":${JSON.stringify(piece)}}`);
    opened = true;
    sent++;
  }
  if (fault && sent <= breaksAfter) {
    yield* breakOff(fault);
    if (fault === 'inband-error') return;
  }
  if (behaviour['tool-calls'])
    yield chunk.delta(
      '{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look_up","arguments":"{}"}}]}',
    );
  yield chunk.finish(answer, behaviour['usage-on-last'] ? usage : undefined);
  if (request.includeUsage && usage && !behaviour['usage-on-last']) yield chunk.usage(usage);
  if (!behaviour['no-done']) yield '[DONE]';
}

/**
 * Breaks off. Only `[DONE]` follows an error event. After garbage the stream continues. Every other
 * fault ends it.
 */
function* breakOff(fault: StandinFault): Generator<Step> {
  if (fault === 'garbage') yield GARBAGE;
  if (fault === 'inband-error') yield JSON.stringify(INBAND_ERROR);
  yield { fault };
  if (fault === 'inband-error') yield '[DONE]';
}

/** Serializes the repeated parts of chunks once, and only the rest for each token. */
function chunkWriter(request: StandinRequest, id: string, createdS: number) {
  const head = `{"id":"${id}","object":"chat.completion.chunk","created":${createdS},"model":${JSON.stringify(request.model)},"choices":[`;
  const deltaHead = `${head}{"index":0,"delta":`;
  const deltaTail = ',"logprobs":null,"finish_reason":null,"token_ids":null}]}';
  const content = request.behaviour['null-content'] ? () => 'null' : JSON.stringify;
  const token = (piece: string) => `${deltaHead}{"content":${content(piece)}}${deltaTail}`;
  return {
    token,
    delta: (delta: string) => `${deltaHead}${delta}${deltaTail}`,
    ofBytes: (bytes: number) =>
      token('x'.repeat(Math.max(0, bytes - token('').length - 'data: \n\n'.length))),
    finish: ({ finishReason, stopReason }: Answer, usage: object | null | undefined) =>
      `${deltaHead}{"content":""},"logprobs":null,"finish_reason":${JSON.stringify(finishReason)},"stop_reason":${JSON.stringify(stopReason)}}]${usage ? `,"usage":${JSON.stringify(usage)}` : ''}}`,
    usage: (usage: object) => `${head}],"usage":${JSON.stringify(usage)}}`,
  };
}
