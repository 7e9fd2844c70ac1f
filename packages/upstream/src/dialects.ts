import { type Asking, ask, at, itemsOf, requiresKey, tokens } from './ask.ts';

/** An entry of a server's model list. Its id can be used to call the model. */
export interface Listed {
  readonly id: string;
  readonly entry: unknown;
}

/** What a server says about a model. */
export interface ModelFacts {
  readonly contextTokens?: number | undefined;
  readonly vision?: boolean;
  /** False: the model is for something else, such as embeddings. */
  readonly chats?: boolean;
}

/**
 * How to recognize one kind of server, and how to ask it about its models. Nothing here loads a
 * model.
 */
export interface Dialect {
  readonly server: string;
  isSpoken(asking: Asking, models: readonly Listed[]): boolean | Promise<boolean>;
  describeModels(asking: Asking, models: readonly Listed[]): Promise<readonly ModelFacts[]>;
  /**
   * Whether the server wants a key for chats although it lists its models without one. Default: no.
   */
  needsKey?(asking: Asking): Promise<boolean>;
  /** What the server says about its own version. Default: nothing. */
  version?(asking: Asking): Promise<unknown>;
}

const ownedBy = (owner: string) => (_: Asking, models: readonly Listed[]) =>
  models.some(({ entry }) => at(entry, 'owned_by') === owner);

const maxLengthOf = ({ entry }: Listed) => tokens(at(entry, 'max_model_len'));

const llamaCpp: Dialect = {
  server: 'llama.cpp',
  isSpoken: ownedBy('llamacpp'),
  needsKey: (asking) => requiresKey(asking, '/props'),
  version: async (asking) => at(await ask(asking, '/props'), 'build_info'),
  async describeModels(asking, models) {
    const props = await ask(asking, '/props');
    // The context of one slot, which is what a request gets. The length that the model was trained
    // with may be larger.
    const served = tokens(at(props, 'default_generation_settings', 'n_ctx'));
    const vision = at(props, 'modalities', 'vision') === true;
    // A server that loads models when they are called has settings for each, which its list shows.
    // It does not report the context of those that are not loaded: `context_length` is the length
    // that the model was trained with.
    return models.map(({ entry }) => ({
      contextTokens: served ?? tokens(at(entry, 'meta', 'n_ctx')),
      vision: vision || itemsOf(at(entry, 'architecture', 'input_modalities')).includes('image'),
    }));
  },
};

const vllm: Dialect = {
  server: 'vLLM',
  isSpoken: ownedBy('vllm'),
  version: async (asking) => at(await ask(asking, '/version'), 'version'),
  // An adapter has the context length of its base model but does not report it.
  describeModels: async (_, models) =>
    models.map((model) => ({
      contextTokens: maxLengthOf(model) ?? models.map(maxLengthOf).find((length) => length !== undefined),
    })),
};

/** SGLang has renamed these paths: `/server_info` was `/get_server_info`. */
const askSglang = async (asking: Asking, about: 'server_info' | 'model_info') =>
  (await ask(asking, `/${about}`)) ?? ask(asking, `/get_${about}`);

const sglang: Dialect = {
  server: 'SGLang',
  isSpoken: ownedBy('sglang'),
  version: async (asking) => at(await askSglang(asking, 'server_info'), 'version'),
  async describeModels(asking, models) {
    const info = await askSglang(asking, 'model_info');
    const told = models.map(maxLengthOf);
    const settings = told.includes(undefined) ? await askSglang(asking, 'server_info') : undefined;
    return told.map((length) => ({
      contextTokens: length ?? tokens(at(settings, 'context_length')),
      vision: at(info, 'has_image_understanding') === true,
      chats: at(info, 'is_generation') !== false,
    }));
  },
};

const ollama: Dialect = {
  server: 'Ollama',
  isSpoken: async (asking) => typeof at(await ask(asking, '/api/version'), 'version') === 'string',
  version: async (asking) => at(await ask(asking, '/api/version'), 'version'),
  async describeModels(asking, models) {
    const loaded = entriesOf(models, itemsOf(at(await ask(asking, '/api/ps'), 'models')), 'model', 'name');
    return inBatches(models, async ({ id }) => {
      const shown = await ask(asking, '/api/show', { model: id });
      const capabilities = itemsOf(at(shown, 'capabilities'));
      return {
        contextTokens: tokens(at(loaded.get(id), 'context_length')) ?? numCtxOf(at(shown, 'parameters')),
        vision: capabilities.includes('vision'),
        chats: capabilities.length === 0 || capabilities.includes('completion'),
      };
    });
  },
};

/** Reads `num_ctx` from a model's parameters: text with a name and a value on each line. */
const numCtxOf = (parameters: unknown): number | undefined =>
  tokens(Number(/^num_ctx\s+(\d+)\s*$/m.exec(typeof parameters === 'string' ? parameters : '')?.[1]));

const lmStudio: Dialect = {
  server: 'LM Studio',
  isSpoken: async (asking) =>
    (await lmStudioModels(asking)).some((entry) => at(entry, 'state') !== undefined),
  async describeModels(asking, models) {
    const entries = entriesOf(models, await lmStudioModels(asking), 'id');
    return models.map(({ id }) => {
      const entry = entries.get(id);
      return {
        contextTokens: tokens(at(entry, 'loaded_context_length')),
        vision: at(entry, 'type') === 'vlm',
        chats: at(entry, 'type') !== 'embeddings',
      };
    });
  },
};

const lmStudioModels = async (asking: Asking) => itemsOf(at(await ask(asking, '/api/v0/models'), 'data'));

const anyOther: Dialect = {
  server: 'A model server',
  isSpoken: () => true,
  describeModels: async (_, models) =>
    models.map(({ entry }) => ({
      contextTokens: tokens(at(entry, 'max_model_len') ?? at(entry, 'context_length')),
    })),
};

/**
 * Dialects that the model list alone identifies come first. The others need another request. The
 * last one matches every server.
 */
export const DIALECTS: readonly Dialect[] = [llamaCpp, vllm, sglang, ollama, lmStudio, anyOther];

/**
 * Finds each model's entry in a list: the first with the model's id in one of these members. Makes
 * one pass, because a server may list half a million entries.
 */
function entriesOf(models: readonly Listed[], list: readonly unknown[], ...members: readonly string[]) {
  const ids = new Set<unknown>(models.map(({ id }) => id));
  const found = new Map<unknown, unknown>();
  for (const entry of list)
    for (const member of members) {
      const id = at(entry, member);
      if (ids.has(id) && !found.has(id)) found.set(id, entry);
    }
  return found;
}

const AT_ONCE = 8;

async function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let i = 0; i < items.length; i += AT_ONCE)
    results.push(...(await Promise.all(items.slice(i, i + AT_ONCE).map(work))));
  return results;
}
