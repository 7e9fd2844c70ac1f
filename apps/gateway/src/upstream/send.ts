import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Replica } from '../catalog/replicas.ts';
import type { UpstreamCall } from './upstream-call.ts';

export interface UpstreamRequest {
  /** To be sent one after the other. */
  readonly body: readonly Uint8Array[];
  /** Bearer token; empty: none. */
  readonly key: string;
  readonly streamed: boolean;
}

interface Target {
  readonly origin: string;
  readonly path: string;
}

/** A body up to this size is copied into one piece; a larger one is not held twice. */
const MAX_JOINED_BYTES = 1024 * 1024;

const targets = new WeakMap<Replica, Target>();

/** Sends a request to a replica; the call hears how it goes. */
export function send(
  upstream: Dispatcher,
  replica: Replica,
  request: UpstreamRequest,
  call: UpstreamCall,
): void {
  try {
    upstream.dispatch(optionsOf(replica, request), call);
  } catch (error) {
    // A replica's URL that is none: as bad as one that does not answer.
    call.onResponseError(null, error as Error);
  }
}

function optionsOf(replica: Replica, { body, key, streamed }: UpstreamRequest): Dispatcher.DispatchOptions {
  const bytes = body.reduce((sum, piece) => sum + piece.byteLength, 0);
  const headers = ['content-type', 'application/json', 'content-length', String(bytes)];
  headers.push('accept', streamed ? 'text/event-stream' : 'application/json', 'accept-encoding', 'identity');
  if (key) headers.push('authorization', `Bearer ${key}`);
  return {
    ...targetOf(replica),
    method: 'POST',
    headers,
    body: bytes <= MAX_JOINED_BYTES ? Buffer.concat(body, bytes) : Readable.from(body),
    // The calls keep the contract's times; none of undici's may cut them short.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
}

function targetOf(replica: Replica): Target {
  let target = targets.get(replica);
  if (!target) {
    const { origin, pathname } = new URL(replica.baseUrl);
    target = { origin, path: `${pathname.replace(/\/+$/, '')}/chat/completions` };
    targets.set(replica, target);
  }
  return target;
}
