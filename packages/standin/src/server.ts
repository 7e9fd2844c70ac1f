import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Behaviour, parseDirectives } from './behaviour.ts';
import { answerCompletion } from './complete.ts';
import { type StandinExchange, sendError } from './deliver.ts';
import { vllmError } from './errors.ts';
import type { StandinModel } from './request.ts';
import { type Stats, StatsKeeper } from './stats.ts';

const KEEP_ALIVE_MS = 60_000;

export interface StandinOptions {
  /** Default: 0, which means any free port. */
  readonly port?: number;
  readonly host?: string;
  /** The model names that it serves. It lists them in this order. */
  readonly names?: readonly string[];
  readonly kind?: 'text' | 'vision';
  readonly contextTokens?: number;
  /** How long `/health` and all of `/v1` answer 503 at first. */
  readonly startupMs?: number;
  /** The bearer token that it requires. Default: none. */
  readonly key?: string;
  /** The default behaviour of requests. */
  readonly behaviour?: Behaviour;
  /**
   * Called for the behaviour `exit`. Default: break all connections and stop listening, as a dead
   * process would.
   */
  readonly exit?: () => void;
}

export interface Standin {
  /** The URL without `/v1`. */
  readonly url: string;
  readonly port: number;
  stats(): Stats;
  /** Lets the requests that are `held` now go on. */
  release(): void;
  close(): Promise<void>;
}

/** Starts a stand-in model server. Rejects when it cannot listen. */
export async function startStandin(options: StandinOptions = {}): Promise<Standin> {
  const host = options.host ?? '127.0.0.1';
  const standin = new StandinServer(options);
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, standin.handle);
  const dieInPlace = () => {
    server.close();
    server.closeAllConnections();
  };
  standin.exit = options.exit ?? dieInPlace;
  server.listen(options.port ?? 0, host);
  await once(server, 'listening');
  const starting = setTimeout(() => standin.becomeReady(), options.startupMs ?? 0);
  if (!options.startupMs) standin.becomeReady();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    stats: () => standin.snapshot(),
    release: () => standin.release(),
    async close() {
      clearTimeout(starting);
      const closed = server.listening ? once(server, 'close') : undefined;
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type Route = (incoming: IncomingMessage, response: ServerResponse) => void | Promise<void>;

class StandinServer {
  readonly #stats = new StatsKeeper();
  exit: () => void = () => {};
  #ready = false;
  #behaviour: Behaviour;
  readonly #releases = new EventEmitter().setMaxListeners(0);
  readonly #model: StandinModel;
  readonly #authorization: string | undefined;
  readonly #createdS = Math.floor(Date.now() / 1_000);
  readonly #routes: Readonly<Record<string, Route>> = {
    'POST /v1/chat/completions': (incoming, response) => this.#complete(incoming, response),
    'GET /v1/models': (_incoming, response) => sendJson(response, 200, this.#modelList()),
    'GET /health': (_incoming, response) => {
      response.writeHead(this.#ready ? (this.#behaviour.health ?? 200) : 503).end();
    },
    'GET /stats': (_incoming, response) => sendJson(response, 200, this.snapshot()),
    'POST /stats/reset': (_incoming, response) => {
      this.#stats.reset();
      response.writeHead(204).end();
    },
    'POST /release': (_incoming, response) => {
      this.release();
      response.writeHead(204).end();
    },
    'POST /behaviour': (incoming, response) => this.#setBehaviour(incoming, response),
  };

  constructor({
    names = ['standin'],
    kind = 'text',
    contextTokens = 8_192,
    key,
    behaviour = {},
  }: StandinOptions) {
    this.#model = { names, kind, contextTokens };
    this.#authorization = key === undefined ? undefined : `Bearer ${key}`;
    this.#behaviour = behaviour;
  }

  becomeReady(): void {
    this.#ready = true;
  }

  snapshot(): Stats {
    return { ...this.#stats.snapshot(), held: this.#releases.listenerCount('release') };
  }

  release(): void {
    this.#releases.emit('release');
  }

  readonly handle = (incoming: IncomingMessage, response: ServerResponse): void => {
    const path = (incoming.url ?? '').split('?', 1)[0] ?? '';
    const route = this.#routes[`${incoming.method} ${path}`];
    const refusal = path.startsWith('/v1/') ? this.#refusal(incoming) : undefined;
    if (refusal) sendJson(response, refusal.status, refusal.body);
    else if (route) void route(incoming, response);
    else sendJson(response, 404, { detail: 'Not Found' });
  };

  #refusal({ headers }: IncomingMessage) {
    if (!this.#ready) return vllmError(503, 'starting');
    if (this.#authorization !== undefined && headers.authorization !== this.#authorization)
      return vllmError(401, 'Unauthorized');
    return undefined;
  }

  async #complete(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    const end = this.#stats.begin();
    const exchange: StandinExchange = {
      response,
      gone: gone.signal,
      end,
      released: () => once(this.#releases, 'release', { signal: gone.signal }),
      exit: this.exit,
    };
    response.once('close', () => gone.abort());
    try {
      await answerCompletion(incoming, exchange, this.#model, this.#behaviour, this.#stats);
    } catch (error) {
      if (gone.signal.aborted || incoming.destroyed || response.headersSent) response.destroy();
      else sendError(exchange, vllmError(500, String(error)));
    } finally {
      end('aborted');
    }
  }

  async #setBehaviour(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of incoming) text += chunk;
    const parsed = parseDirectives(text);
    if (!parsed.ok) return sendJson(response, 400, { detail: parsed.problem });
    this.#behaviour = parsed.value;
    response.writeHead(204).end();
  }

  #modelList(): object {
    const { names, contextTokens } = this.#model;
    return {
      object: 'list',
      data: names.map((id) => ({
        id,
        object: 'model',
        created: this.#createdS,
        owned_by: 'tidegate-standin',
        root: id,
        parent: null,
        max_model_len: contextTokens,
      })),
    };
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
