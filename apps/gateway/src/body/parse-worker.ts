import { setPriority } from 'node:os';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { type ParsedBody, parseBody } from './parse-body.ts';

const NICENESS = 10;

/** Streams come first: a large body may wait for the core they need. On Linux a thread has a niceness of its own. */
function giveWay(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(NICENESS);
  } catch {
    // A sandbox may forbid it; then large bodies and streams share the cores evenly.
  }
}

giveWay();

/** Runs in a worker thread: the messages' bytes move to the caller's thread, they are not copied. */
export default async function parseInWorker(body: Uint8Array): Promise<unknown> {
  const parsed = await parseBody(body);
  return move({ [transferableSymbol]: buffersOf(parsed), [valueSymbol]: parsed } as never);
}

function buffersOf(parsed: ParsedBody): ArrayBufferLike[] {
  if (!parsed.ok) return [];
  return parsed.request.messages.flatMap((segment) => ('image' in segment ? [] : [segment.buffer]));
}
