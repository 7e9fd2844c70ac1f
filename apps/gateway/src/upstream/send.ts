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
  const bytes = request.body.reduce((sum, piece) => sum + piece.byteLength, 0);
  const headers = ['content-type', 'application/json', 'content-length', String(bytes)];
  headers.push('accept', request.streamed ? 'text/event-stream' : 'application/json');
  if (request.key) headers.push('authorization', `Bearer ${request.key}`);
  upstream.dispatch(
    {
      ...targetOf(replica),
      method: 'POST',
      headers,
      body: bytes <= MAX_JOINED_BYTES ? Buffer.concat(request.body, bytes) : Readable.from(request.body),
      // The calls keep the contract's times; none of undici's may cut them short.
      headersTimeout: 0,
      bodyTimeout: 0,
    },
    call,
  );
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
