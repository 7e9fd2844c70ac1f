import { type DescribedModel, describeServer } from '@tidegate/upstream';
import type { PublishModelInput } from '../models/input.ts';
import { publishedNameOf } from './name.ts';

/** The default ports of Ollama, llama.cpp (older and newer), vLLM, SGLang and LM Studio. */
export const USUAL_PORTS: readonly number[] = [11_434, 8_080, 9_931, 8_000, 30_000, 1_234];

const HOST = '127.0.0.1';
const TIMEOUT_MS = 2_000;
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
  /** As the server reports it. Absent: it does not. */
  readonly version?: string;
  /** The base URL of its API, to be published. */
  readonly url: string;
  /** True: the server asks for a key. Its models must be published by hand. */
  readonly needsKey: boolean;
  /** Its chat models. Empty if it has none, or asks for a key. */
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
  const origin = `http://${HOST}:${port}`;
  const described = await describeServer({ origin, signal });
  if (!described) return undefined;
  const { server, version, needsKey, models } = described;
  const publishable = models.filter(({ id }) => publishedNameOf(id) !== '');
  if (models.length > 0 && publishable.length === 0) return undefined;
  const found = publishable.filter(({ chats }) => chats).map(foundModel);
  return { server, ...(version && { version }), url: `${origin}/v1`, needsKey, models: found };
}

const foundModel = ({ id, vision, contextTokens }: DescribedModel): FoundModel => ({
  name: publishedNameOf(id),
  upstreamModel: id,
  kind: vision ? 'vision' : 'text',
  contextTokens: contextTokens ?? ASSUMED_CONTEXT_TOKENS,
  contextAssumed: contextTokens === undefined,
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
