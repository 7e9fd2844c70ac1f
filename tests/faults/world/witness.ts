import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pause } from './random.ts';

/** What a request tells the witness to do, as JSON in the last message. */
export interface Order {
  /** Names the request. Its client sends it once. */
  readonly tag: string;
  /** The key's id, because the gateway does not tell a model who calls. */
  readonly key: string;
  readonly org: string;
  /** The wait before the answer begins. */
  readonly headMs: number;
  readonly tokens: number;
  readonly gapMs: number;
  readonly usage: boolean;
}

/**
 * An excess that lasts less than this is not a violation. The end of one call and the start of
 * another reach the witness over two connections, in any order.
 */
const TOLERANCE_MS = 250;

/** The requests in flight of one key or organization. Compares them with their cap. */
class Flight {
  count = 0;
  /** The highest count at any instant. */
  most = 0;
  readonly #name: string;
  readonly #cap: () => number;
  readonly #violations: string[];
  #above: NodeJS.Timeout | undefined;

  constructor(name: string, cap: () => number, violations: string[]) {
    this.#name = name;
    this.#cap = cap;
    this.#violations = violations;
  }

  enter(): void {
    this.count++;
    this.most = Math.max(this.most, this.count);
    if (this.count <= this.#cap() || this.#above) return;
    // If this process stood still, the end of a call may have arrived but not been read. Reading
    // it and closing its connection takes two turns of the event loop.
    const timer = setTimeout(() => setImmediate(() => setImmediate(report)), TOLERANCE_MS);
    const report = () => {
      if (this.#above !== timer) return;
      this.#violations.push(`${this.#name}: ${this.count} in flight at the model, at most ${this.#cap()}`);
    };
    this.#above = timer;
  }

  leave(): void {
    this.count--;
    if (this.count > this.#cap()) return;
    clearTimeout(this.#above);
    this.#above = undefined;
  }
}

export interface WitnessedCall {
  /**
   * Counts from 1, in order of arrival. The answer's usage has this many prompt tokens. So the row
   * of an answered request identifies its call, whatever its client saw.
   */
  readonly number: number;
  readonly order: Order;
  readonly model: string;
  readonly atMs: number;
  /** Whether the whole answer was written to the gateway. */
  answered: boolean;
}

/** A model server that remembers each call, so that its count can be compared with the ledgers. */
export class Witness {
  readonly url: string;
  readonly calls: WitnessedCall[] = [];
  /** Times when more was in flight than a cap allows. */
  readonly violations: string[] = [];
  readonly #server: Server;
  readonly #flights = new Map<string, Flight>();
  readonly #caps: (name: string) => number;

  private constructor(server: Server, caps: (name: string) => number) {
    this.#server = server;
    this.#caps = caps;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  /** @param caps the requests at once of a key or organization */
  static async start(caps: (name: string) => number): Promise<Witness> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Witness(server, caps);
  }

  /** The most requests of a key or organization that were ever in flight at once. */
  mostOf(name: string): number {
    return this.#flights.get(name)?.most ?? 0;
  }

  /** The requests of a key or organization that are in flight now. */
  inFlightOf(name: string): number {
    return this.#flights.get(name)?.count ?? 0;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #flight(name: string): Flight {
    let flight = this.#flights.get(name);
    if (!flight) {
      flight = new Flight(name, () => this.#caps(name), this.violations);
      this.#flights.set(name, flight);
    }
    return flight;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json').end('{}');
      return;
    }
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = JSON.parse(Buffer.concat(pieces).toString());
    const order = JSON.parse(body.messages.at(-1).content) as Order;
    const number = this.calls.length + 1;
    const call: WitnessedCall = { number, order, model: body.model, atMs: Date.now(), answered: false };
    this.calls.push(call);
    const flights = [this.#flight(order.key), this.#flight(order.org)];
    for (const flight of flights) flight.enter();
    let open = true;
    const leave = () => {
      if (open) for (const flight of flights) flight.leave();
      open = false;
    };
    response.on('close', leave);
    await pause(order.headMs);
    const before = () => {
      leave();
      call.answered = true;
    };
    if (body.stream) await stream(response, call, before);
    else await whole(response, call, before);
  }
}

const usageOf = ({ number, order: { tokens } }: WitnessedCall) => ({
  prompt_tokens: number,
  completion_tokens: tokens,
  total_tokens: number + tokens,
});

async function whole(response: ServerResponse, call: WitnessedCall, before: () => void): Promise<void> {
  const { order } = call;
  await pause(order.gapMs * order.tokens);
  if (response.destroyed) return;
  before();
  response.setHeader('content-type', 'application/json').end(
    JSON.stringify({
      id: 'x',
      object: 'chat.completion',
      created: 1,
      model: 'x',
      choices: [{ index: 0, message: { role: 'assistant', content: 'sea' }, finish_reason: 'stop' }],
      ...(order.usage ? { usage: usageOf(call) } : {}),
    }),
  );
}

async function stream(response: ServerResponse, call: WitnessedCall, before: () => void): Promise<void> {
  const { order } = call;
  const event = (choices: unknown[], more: object = {}) =>
    response.write(
      `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'x', choices, ...more })}\n\n`,
    );
  response.setHeader('content-type', 'text/event-stream');
  event([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]);
  for (let i = 0; i < order.tokens; i++) {
    await pause(order.gapMs);
    if (response.destroyed) return;
    event([{ index: 0, delta: { content: 'sea ' }, finish_reason: null }]);
  }
  event([{ index: 0, delta: {}, finish_reason: 'stop' }]);
  if (order.usage) event([], { usage: usageOf(call) });
  before();
  response.end('data: [DONE]\n\n');
}
