import type { PublishModelInput } from '../models/input.ts';
import { type Asking, ask, asksForKey, at, itemsOf } from './ask.ts';
import { DIALECTS, type Listed, type Told } from './dialects.ts';
import { publishedNameOf } from './name.ts';

/** Where Ollama, llama.cpp, vLLM, SGLang and LM Studio listen unless they are told otherwise. */
export const USUAL_PORTS: readonly number[] = [11_434, 8_080, 8_000, 30_000, 1_234];

const HOST = '127.0.0.1';
const TIMEOUT_MS = 2_000;
const MAX_MODELS = 100;
/** Names longer than this, or with anything unprintable in them, are left out. */
const PRINTABLE = /^[^\p{C}]{1,256}$/u;
/** For who does not tell: the least that the servers above give a model by default. */
const ASSUMED_CONTEXT_TOKENS = 4_096;

export interface FoundModel {
  /** What it would be published as. */
  readonly name: string;
  /** What its server calls it. */
  readonly upstreamModel: string;
  readonly kind: 'text' | 'vision';
  readonly contextTokens: number;
  /** True: the server did not tell its context length, and this one is a guess. */
  readonly contextAssumed: boolean;
}

/** A model server that answers on this machine. */
export interface FoundServer {
  /** Its product's name, such as Ollama; "A server" where it asks for a key before it says anything. */
  readonly server: string;
  /** Its API's base, as it is published. */
  readonly url: string;
  /** True: it asks for a key, so that its models have to be published by hand. */
  readonly needsKey: boolean;
  /** Those for chats, of which there may be none; none where it asks for a key. */
  readonly models: readonly FoundModel[];
}

export interface DiscoverOptions {
  /** Of 127.0.0.1; default the usual ones. */
  readonly ports?: readonly number[];
  /** How long each server may take in all; default 2 s. */
  readonly timeoutMs?: number;
}

/** The model servers that listen on this machine, with the models that can be called without a key. Never rejects. */
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

/** Undefined: it is no list of models. Some servers list none as null. */
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

/** How a model that was found is published: where it is, always on, since nobody here can start it. */
export const publicationOf = ({ url }: FoundServer, model: FoundModel): PublishModelInput => ({
  name: model.name,
  kind: model.kind,
  mode: 'always_on',
  contextTokens: model.contextTokens,
  urls: [url],
  upstreamModel: model.upstreamModel,
});

/** Why a server has nothing to publish, and what to do; undefined where it has something. `ctl` is what runs a command line. */
export function lackOf(
  { server, url, needsKey, models }: FoundServer,
  ctl = (args: string) => args,
): string | undefined {
  const where = `${server} at ${url}`;
  if (!needsKey) return models.length === 0 ? `${where} answers, but has no chat models yet.` : undefined;
  const args = `model publish --name N --kind text --mode always_on --context N --url ${url} --upstream-model M --upstream-key K`;
  return `${where} asks for a key. Publish its models with it: ${ctl(args)}`;
}
