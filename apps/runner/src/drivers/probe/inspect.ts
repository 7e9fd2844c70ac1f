import type { UpstreamAccess } from '../upstream-access.ts';
import { type Get, type GetResponse, get, type NoAnswer, postNothing } from './get.ts';
import { describeServed, type ServedModel, servedModels, serves } from './served-models.ts';

/** An empty name stands for any model. */
export interface InspectedServer extends UpstreamAccess {
  /** Ends in `/v1`. */
  readonly baseUrl: string;
  /**
   * Whether the runner started the server for this model. Such a server may list its one model
   * under another name if ours is only assumed.
   */
  readonly own: boolean;
  /**
   * Whether the model has a health path. That path says whether the server is up, so a list of
   * models may be missing, and a GET of the completions path may find nothing. Default: it has
   * none.
   */
  readonly hasHealthPath?: boolean;
  readonly timeoutMs: number;
  /** How to ask it. Default: with a request of its own each time. */
  readonly get?: Get;
}

/** Why a model cannot be called. */
export type Problem =
  /** The server may be starting or busy. `words` are part of a sentence. */
  | { readonly kind: 'no_answer'; readonly words: string }
  /** The server answers, but calls would fail until someone changes something. */
  | { readonly kind: 'misconfigured'; readonly sentence: string };

const MAX_URL_LENGTH = 200;
/** What a proxy answers for a server that is away. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * Finds out whether calls can work. It sends GETs, and at most a POST of an empty object: nothing
 * is completed, and no server loads a model. Null: no problem was found.
 */
export async function inspect(server: InspectedServer, signal: AbortSignal): Promise<Problem | null> {
  const answer = await ask(server, '/models', signal);
  const problem = problemOf(answer, server);
  if (problem || typeof answer === 'string') return problem;
  if (answer.status === 429) return null;
  const served = answer.status < 300 && !isPage(answer) ? listIn(answer) : 'no_list';
  if (served !== 'no_list') return inspectServed(served, server, signal);
  return server.hasHealthPath ? inspectKey(server, signal) : inspectRoute(answer, server, signal);
}

type ServedList = ReturnType<typeof servedModels>;

/** Parsed once for each answer, because many models may share one. */
const lists = new WeakMap<GetResponse, ServedList>();

function listIn(answer: GetResponse): ServedList {
  // What is too long to read may be a long list.
  const list = lists.get(answer) ?? (answer.body === null ? 'unreadable' : servedModels(answer.body));
  lists.set(answer, list);
  return list;
}

async function inspectServed(
  served: readonly ServedModel[] | 'unreadable',
  server: InspectedServer,
  signal: AbortSignal,
): Promise<Problem | null> {
  if (served !== 'unreadable' && server.name !== '' && !serves(served, server))
    return misconfigured(describeServed(served, server.name));
  return inspectKey(server, signal);
}

/**
 * Some servers and proxies list their models to everyone, and require the key only for completions.
 * Only 401 is judged: a route for POST alone may answer a GET with anything else.
 */
async function inspectKey(server: InspectedServer, signal: AbortSignal): Promise<Problem | null> {
  const answer = await ask(server, '/chat/completions', signal);
  return typeof answer === 'object' && answer.status === 401 ? keyRefused(401, server) : null;
}

/**
 * For a server without a model list: checks whether something answers at the path that gateways
 * call. A GET completes nothing.
 */
async function inspectRoute(
  list: GetResponse,
  server: InspectedServer,
  signal: AbortSignal,
): Promise<Problem | null> {
  const answer = await ask(server, '/chat/completions', signal);
  // A route for POST alone may answer a GET with 403.
  if (typeof answer === 'object' && answer.status === 403) return null;
  const problem = problemOf(answer, server);
  if (problem || typeof answer === 'string') return problem;
  if (!isAbsent(answer)) return null;
  // Some servers answer a GET with 404 at a path that takes only POST.
  const { key, timeoutMs } = server;
  const posted = await postNothing({ url: `${server.baseUrl}/chat/completions`, key, timeoutMs }, signal);
  if (typeof posted === 'string') return { kind: 'no_answer', words: posted };
  if (AWAY.has(posted.status)) return { kind: 'no_answer', words: `HTTP ${posted.status}` };
  if (!isAbsent(posted)) return posted.status === 401 ? keyRefused(401, server) : null;
  const url = server.baseUrl.slice(0, MAX_URL_LENGTH);
  return misconfigured(`No chat completions API at ${url}: /models answered ${describeList(list)}.`);
}

function describeList(list: GetResponse): string {
  if (isPage(list)) return 'with a web page';
  return list.status < 300 ? 'with something other than a list' : String(list.status);
}

const ask = (server: InspectedServer, path: string, signal: AbortSignal) => {
  const { baseUrl, key, timeoutMs } = server;
  return (server.get ?? get)({ url: baseUrl + path, key, timeoutMs }, signal);
};

/** Problems that mean the same for every path. */
function problemOf(answer: GetResponse | NoAnswer, server: InspectedServer): Problem | null {
  if (typeof answer === 'string') return { kind: 'no_answer', words: answer };
  const { status } = answer;
  // Some servers answer 501 to every GET, because they take only POST.
  if (status >= 500 && status !== 501) return { kind: 'no_answer', words: `HTTP ${status}` };
  return status === 401 || status === 403 ? keyRefused(status, server) : null;
}

const keyRefused = (status: number, { key }: InspectedServer): Problem =>
  misconfigured(
    key
      ? `The server refused the upstream key (${status}).`
      : `The server asks for an upstream key (${status}), and the model has none.`,
  );

export const misconfigured = (sentence: string): Problem => ({ kind: 'misconfigured', sentence });

/** Whether nothing is at the path that answers this. */
const isAbsent = (answer: GetResponse): boolean =>
  answer.status === 404 || (answer.status >= 300 && answer.status < 400) || isPage(answer);

/** Whether this looks like the page that a web server sends for any path. */
const isPage = ({ status, contentType }: GetResponse): boolean =>
  status < 300 && contentType.startsWith('text/html');
