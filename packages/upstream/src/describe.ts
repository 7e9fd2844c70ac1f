import { type Asking, ask, at, itemsOf, requiresKey } from './ask.ts';
import { DIALECTS, type Listed, type ModelFacts } from './dialects.ts';

const MAX_MODELS = 100;
/** Models with longer names, or with unprintable characters in them, are left out. */
const PRINTABLE = /^[^\p{C}]{1,256}$/u;
const MAX_VERSION_LENGTH = 40;

export interface DescribedModel {
  /** The name that the server knows it by. */
  readonly id: string;
  /** Undefined: the server does not say. */
  readonly contextTokens: number | undefined;
  /** Whether it takes images. */
  readonly vision: boolean;
  /** False: it is for something else, such as embeddings. */
  readonly chats: boolean;
}

/** What a model server says about itself. */
export interface DescribedServer {
  /**
   * The product's name, such as Ollama. "A server" if it asks for a key before it says anything.
   */
  readonly server: string;
  /** Undefined: the server does not say. */
  readonly version: string | undefined;
  /** Whether it wants a key and got none that it accepts. Then `models` is empty. */
  readonly needsKey: boolean;
  readonly models: readonly DescribedModel[];
}

/**
 * Asks a server what it is and what it serves. Completes nothing and loads no model. Never rejects.
 * Undefined: it is not a model server, or does not answer.
 */
export async function describeServer(asking: Asking): Promise<DescribedServer | undefined> {
  const models = listed(await ask(asking, '/v1/models'));
  const closed = { version: undefined, needsKey: true, models: [] };
  if (models === undefined)
    return (await requiresKey(asking, '/v1/models')) ? { server: 'A server', ...closed } : undefined;
  for (const dialect of DIALECTS) {
    if (!(await dialect.isSpoken(asking, models))) continue;
    const { server } = dialect;
    if (await dialect.needsKey?.(asking)) return { server, ...closed };
    const [told, version] = await Promise.all([
      dialect.describeModels(asking, models),
      dialect.version?.(asking),
    ]);
    return {
      server,
      version: versionOf(version),
      needsKey: false,
      models: models.map(({ id }, i) => described(id, told[i])),
    };
  }
  return undefined;
}

/** Undefined: the answer is not a list of models. Some servers write an empty list as null. */
function listed(answer: unknown): Listed[] | undefined {
  const data = at(answer, 'data');
  if (at(answer, 'object') !== 'list' && itemsOf(data).length === 0) return undefined;
  const usable = itemsOf(data)
    .slice(0, MAX_MODELS)
    .flatMap((entry) => {
      const id = at(entry, 'id');
      return typeof id === 'string' && PRINTABLE.test(id) ? [{ id, entry }] : [];
    });
  return usable.length > 0 || itemsOf(data).length === 0 ? usable : undefined;
}

const versionOf = (version: unknown): string | undefined =>
  typeof version === 'string' && PRINTABLE.test(version) ? version.slice(0, MAX_VERSION_LENGTH) : undefined;

const described = (
  id: string,
  { contextTokens, vision = false, chats = true }: ModelFacts = {},
): DescribedModel => ({
  id,
  contextTokens,
  vision,
  chats,
});
