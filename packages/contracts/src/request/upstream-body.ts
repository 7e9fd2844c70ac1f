import type { CompletionRequest } from './completion-request.ts';

export interface UpstreamBodyOptions {
  /** The model's name at the upstream. */
  readonly model: string;
  /** Ask a streaming upstream for a usage chunk; without effect on a whole answer. */
  readonly includeUsage: boolean;
}

const encoder = new TextEncoder();

/**
 * The request as the upstream gets it, in pieces to be sent one after the other. The messages are passed on as they are.
 * @param dataUrls of the linked images by index: each a JSON string, quotes included, as UTF-8
 */
export function buildUpstreamBody(
  request: CompletionRequest,
  options: UpstreamBodyOptions,
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
    ...(request.stream && options.includeUsage && { stream_options: { include_usage: true } }),
  });
  // JSON.stringify has no integers of 64 bits.
  const seed = request.seed === null ? '' : `"seed":${request.seed},`;
  return [
    encoder.encode(`{"model":${JSON.stringify(options.model)},"messages":`),
    ...messages,
    encoder.encode(`,${seed}${rest.slice(1)}`),
  ];
}
