import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';

/** How long clients may take, how much they may send, and how many may be connected. */
export interface ClientLimits {
  readonly headersMs: number;
  /** For a whole request, its headers included. */
  readonly requestMs: number;
  readonly maxBodyBytes: number;
  /** For forms, which the framework decodes before anything checks who sent them. */
  readonly maxFormBytes: number;
  readonly maxConnections: number;
  /** How long a connection with a request may carry nothing. */
  readonly silentMs: number;
}

/**
 * The largest bodies carry images to try a model with. They may be a little larger than the API
 * takes, so that people see its refusal.
 */
export const CLIENT_LIMITS: ClientLimits = {
  headersMs: 15_000,
  requestMs: 60_000,
  maxBodyBytes: 21 * 1024 * 1024,
  // Nine bytes of a form can make the framework create a stream, which takes kilobytes and 40 µs.
  // The longest form publishes a model with 64 URLs of 2,048 characters.
  maxFormBytes: 192 * 1024,
  maxConnections: 5_000,
  // A model that someone tries may take one minute to wake and two to think.
  silentMs: 300_000,
};
const MAX_HEADER_BYTES = 32 * 1024;
/** How late a time limit may be noticed. Node's default is 30 s. */
const CHECK_MS = 1_000;
/** Longer than the minute that load balancers usually allow: they should be the ones to close. */
const KEEP_ALIVE_MS = 75_000;

/** Node answers 408 to a client that exceeds a time limit, and closes the connection. */
export const serverOptionsOf = ({ headersMs, requestMs }: ClientLimits): ServerOptions => ({
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: headersMs,
  requestTimeout: requestMs,
  connectionsCheckingInterval: Math.min(CHECK_MS, headersMs),
  keepAliveTimeout: KEEP_ALIVE_MS,
});

/**
 * Some requests are never answered: the framework waits for a part of a form that refers to itself.
 */
export function limitConnections(server: Server, { maxConnections, silentMs }: ClientLimits): void {
  server.maxConnections = maxConnections;
  server.setTimeout(silentMs);
}

/**
 * Returns false, and answers 413, if the request announces too large a body. Ends the connection if
 * the body turns out to be too large.
 */
export function limitBody(
  request: IncomingMessage,
  response: ServerResponse,
  { maxBodyBytes, maxFormBytes }: ClientLimits,
): boolean {
  const maxBytes = isForm(request) ? maxFormBytes : maxBodyBytes;
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > maxBytes) {
    // Node drops a body that nobody reads, so the connection can stay open: behind a proxy, later
    // requests on it may be other people's.
    response.writeHead(413, announced > maxBodyBytes ? { connection: 'close' } : {}).end();
    return false;
  }
  let bytes = 0;
  // A listener for data would start the body before the screen that reads it is ready.
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
    bytes += chunk?.length ?? 0;
    if (bytes <= maxBytes) return push(chunk, encoding);
    request.destroy();
    return false;
  };
  return true;
}

/** Whether the framework may take it for a form. Only Try it sends JSON. */
const isForm = ({ headers }: IncomingMessage): boolean =>
  headers['next-action'] !== undefined || !headers['content-type']?.startsWith('application/json');
