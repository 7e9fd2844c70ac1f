import type { PublishModelInput } from '../models/input.ts';
import { type Asking, ask, asksForKey, at, itemsOf } from './ask.ts';
import { DIALECTS, type Listed, type Told } from './dialects.ts';
import { publishedNameOf } from './name.ts';

/** The default ports of Ollama, llama.cpp, vLLM, SGLang and LM Studio. */
export const USUAL_PORTS: readonly number[] = [11_434, 8_080, 8_000, 30_000, 1_234];

const HOST = '127.0.0.1';
const TIMEOUT_MS = 2_000;
const MAX_MODELS = 100;
/** Models with longer names, or with unprintable characters in them, are left out. */
const PRINTABLE = /^[^\p{C}]{1,256}$/u;
/** For servers that do not report a context length: the smallest default of the servers above. */
const ASSUMED_CONTEXT_TOKENS = 4_096;

export interface FoundModel {
  /** The name to publish it under. */
  readonly name: string;
  /** Its name on the server. */
  readonly upstreamModel: string;
  readonly kind: 'text' | 'vision';
  readonly contextTokens: number;
  /** True: the server did not report its context length, and this one is a guess. */
  readonly contextAssumed: boolean;
}

/** A model server that answers on this machine. */
export interface FoundServer {
  /**
   * The product's name, such as Ollama. "A server" if it asks for a key before it says anything.
   */
  readonly server: string;
  /** The base URL of its API, to be published. */
  readonly url: string;
  /** True: the server asks for a key. Its models must be published by hand. */
  readonly needsKey: boolean;
  /** Its models for chats. Empty if it has none, or asks for a key. */
  readonly models: readonly FoundModel[];
}

export interface DiscoverOptions {
  /** Ports of 127.0.0.1. Default: the usual ones. */
  readonly ports?: readonly number[];
  /** How long each server may take in all. Default: 2 s. */
  readonly timeoutMs?: number;
}

/**
 * Finds the model servers on this machine, and their models that can be called without a key. Never
 * rejects.
 */
export async function discoverServers(options: DiscoverOptions = {}): Promise<FoundServer[]> {
  const { ports = USUAL_PORTS, timeoutMs = TIMEOUT_MS } = options;
  const found = await Promise.all(ports.map((port) => discoverServer(port, AbortSignal.timeout(timeoutMs))));
  return found.filter((server) => server !== undefined);
}

async function discoverServer(port: number, signal: AbortSignal): Promise<FoundServer | undefined> {
  const asking: Asking = { origin: `http://${HOST}:${port}`, signal };
  const url = `${asking.origin}/v1`;
  const models = listed(await ask(asking, '/v1/models'));
  if (models === undefined) {
    const needsKey = await asksForKey(asking, '/v1/models');
    return needsKey ? { server: 'A server', url, needsKey, models: [] } : undefined;
  }
  for (const dialect of DIALECTS) {
    if (!(await dialect.isSpoken(asking, models))) continue;
    const { server } = dialect;
    if (await dialect.needsKey?.(asking)) return { server, url, needsKey: true, models: [] };
    const told = await dialect.tell(asking, models);
    const found = models.map(({ id }, i) => foundModel(id, told[i]));
    return { server, url, needsKey: false, models: found.filter((_, i) => told[i]?.chats !== false) };
  }
  return undefined;
}

/** Undefined: the answer is no list of models. Some servers write an empty list as null. */
function listed(answer: unknown): Listed[] | undefined {
  const data = at(answer, 'data');
  if (at(answer, 'object') !== 'list' && itemsOf(data).length === 0) return undefined;
  const usable = itemsOf(data)
    .slice(0, MAX_MODELS)
    .flatMap((entry) => {
      const id = at(entry, 'id');
      return typeof id === 'string' && PRINTABLE.test(id) && publishedNameOf(id) !== ''
        ? [{ id, entry }]
        : [];
    });
  return usable.length > 0 || itemsOf(data).length === 0 ? usable : undefined;
}

const foundModel = (id: string, told: Told = {}): FoundModel => ({
  name: publishedNameOf(id),
  upstreamModel: id,
  kind: told.vision ? 'vision' : 'text',
  contextTokens: told.contextTokens ?? ASSUMED_CONTEXT_TOKENS,
  contextAssumed: told.contextTokens === undefined,
});

/**
 * The settings for publishing a model that was found. It is always on, because Tidegate cannot
 * start it.
 */
export const publicationOf = ({ url }: FoundServer, model: FoundModel): PublishModelInput => ({
  name: model.name,
  kind: model.kind,
  mode: 'always_on',
  contextTokens: model.contextTokens,
  urls: [url],
  upstreamModel: model.upstreamModel,
});

/**
 * Says why a server has nothing to publish, and what to do. Undefined: it has something. `ctl`
 * turns arguments into a command line.
 */
export function lackOf(
  { server, url, needsKey, models }: FoundServer,
  ctl = (args: string) => args,
): string | undefined {
  const where = `${server} at ${url}`;
  if (!needsKey) return models.length === 0 ? `${where} answers, but has no chat models yet.` : undefined;
  const args = `model publish --name N --kind text --mode always_on --context N --url ${url} --upstream-model M --upstream-key-stdin`;
  return `${where} asks for a key. Publish its models with it: ${ctl(args)}`;
}
