import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { isWatched, record } from './conformance/watch.ts';

export interface Call {
  readonly method?: string;
  /** The target in the request line. Default: the completions' path. */
  readonly target?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Objects are sent as JSON. Text and bytes are sent as they are. */
  readonly body?: string | Uint8Array | object | undefined;
  readonly agent?: Agent;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** False: the connection was closed before the end of the body, as when a stream breaks off. */
  readonly over: boolean;
  /** The body as JSON. Undefined: it is not JSON. */
  readonly json: unknown;
  /** The body's `error.code`, if it is an error. */
  readonly code: string | undefined;
  readonly message: string;
}

export const COMPLETIONS = '/v1/chat/completions';
export const MODELS = '/v1/models';

/**
 * Sends one request, on its own connection unless an agent is given. Adds nothing that a client
 * library would add.
 */
export async function call(base: string, options: Call = {}): Promise<Answer> {
  return readAnswer(await open(base, options));
}

/** Like `call`, but resolves when the head has arrived. The caller reads the body. */
export function open(base: string, options: Call = {}): Promise<IncomingMessage> {
  const { method = 'POST', target = COMPLETIONS, key, headers, body, agent } = options;
  const { hostname, port } = new URL(base);
  const bytes = bytesOf(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        hostname,
        port,
        method,
        path: target,
        agent: agent ?? false,
        headers: {
          ...(key && { authorization: `Bearer ${key}` }),
          ...(bytes && { 'content-length': String(bytes.length) }),
          ...headers,
        },
      },
      (message) => {
        if (isWatched(new URL(base))) watch(message, method, target, bytes);
        resolve(message);
      },
    );
    sent.on('error', reject);
    sent.end(bytes);
  });
}

/** Records what arrives before the reader gets it, without reading it. */
function watch(message: IncomingMessage, method: string, target: string, sent: Uint8Array | undefined): void {
  const { statusCode: status = 0, headers } = message;
  const recording = record({ method, target, sent: sent ?? '', status, headers });
  const push = message.push.bind(message);
  message.push = (piece, encoding) => {
    if (piece === null) recording.end();
    else recording.add(piece);
    return push(piece, encoding);
  };
}

const bytesOf = (body: Call['body']): Uint8Array | undefined => {
  if (body === undefined || body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
};

/** Reads an answer. A stream may break off; any other incomplete body rejects. */
export async function readAnswer(message: IncomingMessage): Promise<Answer> {
  const { statusCode: status = 0, headers } = message;
  const pieces: Buffer[] = [];
  try {
    for await (const piece of message) pieces.push(piece as Buffer);
  } catch (error) {
    if (!headers['content-type']?.startsWith('text/event-stream')) throw error;
  }
  return answerOf(status, headers, Buffer.concat(pieces).toString(), message.complete);
}

function answerOf(status: number, headers: IncomingHttpHeaders, text: string, over: boolean): Answer {
  const json = parse(text);
  const { error } = (json ?? {}) as { error?: { code?: string; message?: string } };
  return { status, headers, text, over, json, code: error?.code, message: error?.message ?? '' };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The first bytes written on a connection to a gateway: enough to tell the method and target. */
const beginnings = new WeakMap<Socket, string>();
const MAX_REQUEST_LINE = 8_192;

/** Opens a connection for raw bytes. */
export function dial(base: string): Promise<Socket> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    if (isWatched(new URL(base))) noteBeginning(socket);
    socket.once('connect', () => resolve(socket)).once('error', reject);
  });
}

function noteBeginning(socket: Socket): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  beginnings.set(socket, '');
  socket.write = (...args: unknown[]) => {
    const begun = beginnings.get(socket) ?? '';
    if (begun.length < MAX_REQUEST_LINE) {
      const piece = (args[0] as string | Buffer).slice(0, MAX_REQUEST_LINE);
      beginnings.set(socket, begun + String(piece));
    }
    return write(...args);
  };
}

/** Writes raw bytes. Resolves to the answer when the server closes the connection. */
export async function wire(base: string, ...pieces: readonly (string | Uint8Array)[]): Promise<Answer> {
  const socket = await dial(base);
  for (const piece of pieces) socket.write(piece);
  return readWire(socket);
}

/** Reads the single answer on a connection that the server closes after it. */
export async function readWire(socket: Socket): Promise<Answer> {
  const received: Buffer[] = [];
  for await (const piece of socket) received.push(piece as Buffer);
  const [head = '', ...rest] = Buffer.concat(received).toString().split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  const body = rest.join('\r\n\r\n');
  const [, over] = headers['transfer-encoding'] === 'chunked' ? dechunk(body) : [body, true];
  const answer = answerOf(Number(statusLine.split(' ')[1]), headers, body, over);
  const begun = beginnings.get(socket);
  if (begun !== undefined) watchWire(begun, answer);
  return answer;
}

/** Checks only the answer, because the request may be cut or not be HTTP at all. */
function watchWire(begun: string, { status, headers, text }: Answer): void {
  const [, method = 'GET', target = '*'] = /^(\S+) (\S+) HTTP\//.exec(begun) ?? [];
  const recording = record({ method, target, sent: undefined, status, headers });
  const chunked = headers['transfer-encoding'] === 'chunked';
  const [body, whole] = chunked ? dechunk(text) : [text, true];
  recording.add(Buffer.from(body));
  if (whole) recording.end();
}

/** The body of a chunked answer, and whether it is complete. */
function dechunk(text: string): [body: string, whole: boolean] {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at);
    const length = Number.parseInt(bytes.subarray(at, line).toString(), 16);
    if (line === -1 || !(length > 0)) return [Buffer.concat(pieces).toString(), length === 0];
    pieces.push(bytes.subarray(line + 2, line + 2 + length));
    at = line + 2 + length + 2;
  }
}
