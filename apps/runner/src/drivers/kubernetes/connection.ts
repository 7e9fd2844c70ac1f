import { type SpawnOptions, spawn } from 'node:child_process';
import { type IncomingMessage, type OutgoingHttpHeaders, request as plain } from 'node:http';
import { request as secure } from 'node:https';
import type { HttpMethod, KubeConfig } from '@kubernetes/client-node';

/** `in-cluster`: as the service account of the runner's pod. Otherwise the path of a kubeconfig. */
export type ClusterAccess = 'in-cluster' | (string & {});

export interface ApiCall {
  readonly method: 'GET' | 'PUT';
  /** From the root, each part encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /**
   * Asked right before the call is sent, because fetching credentials may take a while. Default: it
   * may be sent.
   */
  readonly maySend?: () => boolean;
}

/** How long a connection may be quiet before the system asks whether the peer is still there. */
const KEEP_ALIVE_MS = 30_000;
/** How long a program that fetches credentials may run: longer than a call waits for it. */
const PROGRAM_MS = 15_000;

/**
 * Calls an API server with the address and credentials of the official client. Requests are sent
 * here and not by the client, whose requests have no time limit and whose watches cannot be ended
 * before they are answered.
 */
export class Connection {
  readonly #access: ClusterAccess;
  readonly #programMs: number;
  #config: Promise<KubeConfig> | null = null;

  constructor(access: ClusterAccess, programMs = PROGRAM_MS) {
    this.#access = access;
    this.#programMs = programMs;
  }

  /**
   * Resolves with the head of an answer; its body is the caller's to read or destroy. If the server
   * refuses the credentials, they are read again, once: tokens expire and are replaced in their
   * files.
   */
  async send(call: ApiCall, signal: AbortSignal): Promise<IncomingMessage> {
    const answer = await this.#attempt(call, signal);
    if (answer.statusCode !== 401) return answer;
    answer.destroy();
    this.#config = null;
    return this.#attempt(call, signal);
  }

  async #attempt(
    { method, path, query, body, maySend }: ApiCall,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { RequestContext } = await client();
    const config = await this.#load();
    const url = new URL((config.getCurrentCluster()?.server ?? '').replace(/\/$/, '') + path);
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
    const context = new RequestContext(url.href, method as HttpMethod);
    context.setHeaderParam('accept', 'application/json');
    if (body !== undefined) context.setHeaderParam('content-type', 'application/json');
    await fetched(config.applySecurityAuthentication(context), signal);
    const agent = context.getAgent();
    const options = {
      method,
      signal,
      headers: context.getHeaders() as OutgoingHttpHeaders,
      ...(agent ? { agent } : {}),
    };
    if (maySend && !maySend()) throw new Error('another runner leads');
    return new Promise((resolve, reject) => {
      const sent = (url.protocol === 'https:' ? secure : plain)(url, options, resolve);
      sent.on('error', reject);
      sent.on('socket', (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  #load(): Promise<KubeConfig> {
    this.#config ??= load(this.#access, this.#programMs).catch((error) => {
      this.#config = null;
      throw error;
    });
    return this.#config;
  }
}

/** The message is for users. */
export class CredentialsError extends Error {}

const NOT_FETCHED = 'its credentials could not be fetched';
const MAX_DETAIL_LENGTH = 200;

/** Waits for credentials until the signal aborts. */
function fetched(credentials: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new CredentialsError(`${NOT_FETCHED} in time`));
    // Fails as a request does whose signal is already aborted.
    if (signal.aborted) reject(Object.assign(new Error('aborted'), { code: 'ABORT_ERR' }));
    signal.addEventListener('abort', giveUp, { once: true });
    credentials
      .then(resolve, (error) => reject(new CredentialsError(`${NOT_FETCHED}: ${detailOf(error)}`)))
      .finally(() => signal.removeEventListener('abort', giveUp));
  });
}

/** The client's message is everything that the program printed to stderr. Its end says the most. */
function detailOf({ name, message }: Error): string {
  // The message quotes what may be a token.
  if (name === 'SyntaxError') return 'the answer is not JSON';
  const lines = message.split('\n').map((line) => line.replace(/[\s\p{C}]+/gu, ' ').trim());
  return (lines.findLast((line) => line !== '') ?? 'no reason was given').slice(0, MAX_DETAIL_LENGTH);
}

/** The client takes 80 MB of memory, so only a runner that needs it loads it. */
export const client = () => import('@kubernetes/client-node');

async function load(access: ClusterAccess, programMs: number): Promise<KubeConfig> {
  const { KubeConfig } = await client();
  const config = new KubeConfig();
  boundPrograms(config, programMs);
  if (access === 'in-cluster') config.loadFromCluster();
  else config.loadFromFile(access);
  if (!config.getCurrentCluster()) throw new Error('the kubeconfig names no current cluster');
  return config;
}

/**
 * The client sets no time limit for a program that fetches credentials. Each call starts another
 * one, so those that hang would pile up.
 */
function boundPrograms(config: KubeConfig, timeout: number): void {
  // The client offers no option for it. A test notices if this finds nothing any more.
  for (const authenticator of Reflect.get(config, 'authenticators') as { execFn?: unknown }[])
    if (authenticator.execFn)
      authenticator.execFn = (command: string, args: string[], options: SpawnOptions) =>
        spawn(command, args, { ...options, timeout, killSignal: 'SIGKILL' });
}
