import { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import type { UpstreamCall } from './upstream-call.ts';

/** The span of the call, for the model's own trace. */
export interface TraceHeaders {
  readonly traceparent: string;
  /** Empty: none. */
  readonly tracestate: string;
}

export interface UpstreamRequest {
  /** Pieces to send one after another. */
  readonly body: readonly Uint8Array[];
  /** Bearer token. Empty for none. */
  readonly key: string;
  /** Sent along, so that the model's log can be matched with ours. */
  readonly requestId: string;
  readonly streamed: boolean;
}

interface SplitUrl {
  readonly origin: string;
  readonly path: string;
}

/**
 * A body up to this size is copied into one buffer. A larger one is not, to avoid holding it twice.
 */
const MAX_JOINED_BYTES = 1024 * 1024;

/** By the replicas' base URLs. */
const splitUrls = new LRUCache<string, SplitUrl>({ max: 10_000 });

/** Sends a request to the replica at a URL and reports its progress to the call. */
export function send(
  upstream: Dispatcher,
  baseUrl: string,
  request: UpstreamRequest,
  call: UpstreamCall,
  trace: TraceHeaders | null = null,
): void {
  try {
    upstream.dispatch(optionsOf(baseUrl, request, trace), call);
  } catch {
    // The URL is invalid. Treat the replica as one that cannot be reached.
    call.onResponseError();
  }
}

function optionsOf(
  baseUrl: string,
  { body, key, requestId, streamed }: UpstreamRequest,
  trace: TraceHeaders | null,
): Dispatcher.DispatchOptions {
  const bytes = body.reduce((sum, piece) => sum + piece.byteLength, 0);
  const headers = ['content-type', 'application/json', 'content-length', String(bytes)];
  headers.push('accept', streamed ? 'text/event-stream' : 'application/json', 'accept-encoding', 'identity');
  headers.push('x-request-id', requestId);
  if (trace) headers.push('traceparent', trace.traceparent);
  if (trace?.tracestate) headers.push('tracestate', trace.tracestate);
  if (key) headers.push('authorization', `Bearer ${key}`);
  const { origin, path } = splitUrl(baseUrl);
  return {
    origin,
    path,
    method: 'POST',
    headers,
    body: bytes <= MAX_JOINED_BYTES ? Buffer.concat(body, bytes) : Readable.from(body),
    // The calls enforce the contract's timeouts, and undici's own must not fire earlier.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
}

function splitUrl(baseUrl: string): SplitUrl {
  let split = splitUrls.get(baseUrl);
  if (!split) {
    const { origin, pathname } = new URL(baseUrl);
    split = { origin, path: `${pathname.replace(/\/+$/, '')}/chat/completions` };
    splitUrls.set(baseUrl, split);
  }
  return split;
}
