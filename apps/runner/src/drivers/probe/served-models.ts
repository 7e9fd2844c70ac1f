import { z } from 'zod';
import type { UpstreamAccess } from '../upstream-access.ts';

export interface ServedModel {
  readonly id: string;
  readonly ownedBy: string;
  /** Further names that it can be called by. */
  readonly aliases: readonly string[];
  /** Whether it is one of those that a llama.cpp server loads when they are called. */
  readonly routed: boolean;
}

const modelList = z.object({ data: z.array(z.unknown()) });
/** Lists in other formats. What their entries mean is not known. */
const otherList = z.union([z.array(z.unknown()), z.object({ models: z.array(z.unknown()) })]);
/** Some servers write an empty list like this. */
const emptyList = z.object({ object: z.literal('list'), data: z.null() });
const entry = z.object({
  id: z.string().min(1),
  owned_by: z.string().catch(''),
  aliases: z.array(z.string()).catch([]),
  status: z.unknown().optional(),
});

/**
 * Reads the body of a model list. `unreadable`: it is a list, but it is not clear of which models.
 */
export function servedModels(body: string): ServedModel[] | 'unreadable' | 'no_list' {
  const json = parse(body);
  if (emptyList.safeParse(json).success) return [];
  const list = modelList.safeParse(json);
  if (!list.success) return otherList.safeParse(json).success ? 'unreadable' : 'no_list';
  const served = list.data.data.flatMap((item) => {
    const { success, data } = entry.safeParse(item);
    if (!success) return [];
    const { id, owned_by: ownedBy, aliases, status } = data;
    return [{ id, ownedBy, aliases, routed: status !== undefined }];
  });
  return served.length === 0 && list.data.data.length > 0 ? 'unreadable' : served;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Owners in the lists of servers that have one model and ignore the name in requests. */
const IGNORE_NAMES: ReadonlySet<string> = new Set(['llamacpp', 'sglang', 'koboldcpp', 'tabbyAPI']);
/** The owner in the lists of a server that refuses all names that it does not list. */
const HEEDS_NAMES = 'vllm';
/**
 * The name that TGI tells callers to send, though it accepts others. It lists its one model with
 * its own name as the owner.
 */
const NAME_FOR_TGI = 'tgi';

interface CalledModel extends Pick<UpstreamAccess, 'name' | 'nameAssumed'> {
  /** Whether the runner started the server for this model. */
  readonly own: boolean;
}

/** Whether a server with this list answers for the name. */
export function serves(served: readonly ServedModel[], { name, nameAssumed, own }: CalledModel): boolean {
  // Where models have tags, as with Ollama, `x` is short for `x:latest`.
  if (served.some(({ id, aliases }) => id === name || id === `${name}:latest` || aliases.includes(name)))
    return true;
  const [only] = served;
  if (!only || served.length > 1) return false;
  if (only.routed) return false;
  if (IGNORE_NAMES.has(only.ownedBy)) return true;
  if (only.ownedBy === HEEDS_NAMES) return false;
  if (only.ownedBy === only.id) return nameAssumed || name === NAME_FOR_TGI;
  return nameAssumed && own;
}

const MAX_NAMES = 5;
const MAX_NAME_LENGTH = 80;

/** A sentence for users. It is bounded, whatever the server lists. */
export function describeServed(served: readonly ServedModel[], name: string): string {
  const first = served.slice(0, MAX_NAMES).map(({ id }) => shown(id));
  const more = served.length - first.length;
  const all = first.length === 0 ? 'no model' : first.join(', ') + (more > 0 ? ` and ${more} more` : '');
  return `The server does not serve '${shown(name)}'. It serves ${all}.`;
}

function shown(name: string): string {
  const clean = name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '');
  return clean.length > MAX_NAME_LENGTH ? `${clean.slice(0, MAX_NAME_LENGTH)}…` : clean;
}
