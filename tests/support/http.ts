import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface Call {
  readonly method?: string;
  /** What stands in the request line; default the completions' path. */
  readonly target?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Objects are sent as JSON, text and bytes as they are. */
  readonly body?: string | Uint8Array | object | undefined;
  readonly agent?: Agent;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; undefined if it is none. */
  readonly json: unknown;
  /** `error.code`, if the body is an error. */
  readonly code: string | undefined;
  readonly message: string;
}

export const COMPLETIONS = '/v1/chat/completions';
export const MODELS = '/v1/models';

/** One request on a connection of its own (unless an agent says otherwise), with nothing added that a client library would add. */
export async function call(base: string, options: Call = {}): Promise<Answer> {
  return readAnswer(await open(base, options));
}

/** Like `call`, but resolves with the head; the body is the caller's to read. */
export function open(base: string, options: Call = {}): Promise<IncomingMessage> {
  const { method = 'POST', target = COMPLETIONS, key, headers, body, agent } = options;
  const { hostname, port } = new URL(base);
  const bytes = bytesOf(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...{ hostname, port, method, path: target, agent: agent ?? false },
        headers: {
          ...(key && { authorization: `Bearer ${key}` }),
          ...(bytes && { 'content-length': String(bytes.length) }),
          ...headers,
        },
      },
      resolve,
    );
    sent.on('error', reject);
    sent.end(bytes);
  });
}

const bytesOf = (body: Call['body']): Uint8Array | undefined => {
  if (body === undefined || body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
};

export async function readAnswer(message: IncomingMessage): Promise<Answer> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return answerOf(message.statusCode ?? 0, message.headers, Buffer.concat(pieces).toString());
}

function answerOf(status: number, headers: IncomingHttpHeaders, text: string): Answer {
  const json = parse(text);
  const { error } = (json ?? {}) as { error?: { code?: string; message?: string } };
  return { status, headers, text, json, code: error?.code, message: error?.message ?? '' };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A connection to write anything on. */
export function dial(base: string): Promise<Socket> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    socket.once('connect', () => resolve(socket)).once('error', reject);
  });
}

/** Writes bytes as they are, and resolves with what comes back until the server closes the connection. */
export async function wire(base: string, ...pieces: readonly (string | Uint8Array)[]): Promise<Answer> {
  const socket = await dial(base);
  for (const piece of pieces) socket.write(piece);
  return readWire(socket);
}

/** The one answer on a connection that the server closes after it. */
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
  return answerOf(Number(statusLine.split(' ')[1]), headers, rest.join('\r\n\r\n'));
}
