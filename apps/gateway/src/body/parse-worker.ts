import type { MessagePort } from 'node:worker_threads';
import { type CompletionRequest, isRefusal, type Refusal } from '@tidegate/contracts';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { receiveMoved } from '../bytes/moved-pieces.ts';
import { joined } from '../bytes/pieces.ts';
import { parseBody } from './parse-body.ts';
import { lowerThreadPriority } from './priority.ts';

lowerThreadPriority();

/** The pieces of a body, or a port from which to receive all of its bytes. */
export type WorkerBody = readonly Uint8Array[] | { readonly port: MessagePort; readonly bytes: number };

export interface WorkerResult {
  readonly parsed: CompletionRequest | Refusal;
  /** How long the thread was busy with it. */
  readonly tookMs: number;
}

/**
 * Runs in a worker thread. The bytes of the parsed messages are moved to the caller's thread, not
 * copied.
 */
export default function parseInWorker(body: WorkerBody): unknown {
  const startedMs = performance.now();
  const bytes = 'port' in body ? receiveMoved(body.port, body.bytes) : joined(body);
  const parsed = parseBody(bytes);
  const result: WorkerResult = { parsed, tookMs: performance.now() - startedMs };
  return move({ [transferableSymbol]: buffersOf(parsed), [valueSymbol]: result } as never);
}

function buffersOf(parsed: CompletionRequest | Refusal): ArrayBufferLike[] {
  if (isRefusal(parsed)) return [];
  return parsed.messages.flatMap((segment) => ('image' in segment ? [] : [segment.buffer]));
}
