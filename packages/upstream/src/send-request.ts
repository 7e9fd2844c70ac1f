import { type IncomingMessage, request as plain } from 'node:http';
import { request as secure } from 'node:https';
import { pipeline, type Readable } from 'node:stream';

export interface OutgoingRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  /** Makes it a POST, even if it is empty. */
  readonly body?: string | Readable | undefined;
  readonly signal: AbortSignal;
  /**
   * Ends the request, or its answer, when nothing has been sent or received for this long. Counts
   * from when the connection is open.
   */
  readonly silenceMs?: number;
}

/** A server that was reached and then said nothing for `silenceMs`. */
export class SilentServer extends Error {}

/**
 * Sends one request on its own connection and returns the answer, with its body unread. Follows no
 * redirects. Rejects if no answer comes, with `SilentServer` if the server was silent for
 * `silenceMs`.
 *
 * Node's fetch is not used: from Node 24 on, it can end the process if a connection ends while part
 * of the answer still waits to be read or decompressed. It also has V8 compile its parser, which
 * takes 0.1 s of a core just when callers who waited for a model are forwarded to it.
 */
export function sendRequest(outgoing: OutgoingRequest): Promise<IncomingMessage> {
  const { url, headers, body, signal, silenceMs } = outgoing;
  const begin = url.startsWith('https:') ? secure : plain;
  const method = body === undefined ? 'GET' : 'POST';
  return new Promise((resolve, reject) => {
    const request = begin(url, { agent: false, method, headers, signal }, resolve);
    request.on('error', reject);
    if (silenceMs)
      request.setTimeout(silenceMs, () => request.destroy(new SilentServer('no answer in time')));
    // For an answer that switches protocols, Node emits neither `response` nor `error`.
    request.on('close', () => reject(new Error('no answer')));
    // A body that fails is an error of the request, too.
    if (typeof body === 'object') pipeline(body, request, () => {});
    else request.end(body);
  });
}

/** A list of a few thousand models fits. */
const MAX_BYTES = 1024 * 1024;

/** Reads the body of an answer. Null: it is longer than 1 MiB. */
export async function readText(answer: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length;
    // Leaving the loop closes the connection.
    if (bytes > MAX_BYTES) return null;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
}
