import type { CompletionRequest } from './completion-request.ts';

/**
 * Builds the upstream's request body, in pieces to be sent one after the other. The messages are
 * not copied. A stream is asked for its usage, whether or not the caller wants it.
 * @param model the model's name at the upstream
 * @param dataUrls one for each linked image, by index: a JSON string with its quotes, in UTF-8
 */
export function buildUpstreamBody(
  request: CompletionRequest,
  model: string,
  dataUrls: readonly Uint8Array[],
): Uint8Array[] {
  const messages = request.messages.map((segment) => {
    if (!('image' in segment)) return segment;
    const dataUrl = dataUrls[segment.image];
    if (dataUrl === undefined) throw new Error(`no data URL for linked image ${segment.image}`);
    return dataUrl;
  });
  const rest = JSON.stringify({
    max_tokens: request.maxTokens,
    ...request.sampling,
    stream: request.stream,
    ...(request.stream && { stream_options: { include_usage: true } }),
  });
  // JSON.stringify cannot write 64-bit integers.
  const seed = request.seed === null ? '' : `"seed":${request.seed},`;
  return [
    Buffer.from(`{"model":${JSON.stringify(model)},"messages":`),
    ...messages,
    Buffer.from(`,${seed}${rest.slice(1)}`),
  ];
}
