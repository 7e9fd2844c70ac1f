import type { CheckModelInput, PublishModelInput, ServedModelView } from '@tidegate/control';
import { typedWhole } from '../ui/numbers.ts';

/** What the publishing form holds, as typed. */
export interface Publication {
  readonly name: string;
  readonly urls: string;
  readonly kind: 'text' | 'vision';
  readonly contextTokens: string;
  readonly upstreamModel: string;
  readonly upstreamKey: string;
}

export const NOTHING_YET: Publication = {
  name: '',
  urls: '',
  kind: 'text',
  contextTokens: '8192',
  upstreamModel: '',
  upstreamKey: '',
};

/** The servers in a text that has them on lines, or with spaces or commas between them. */
export const urlsOf = (text: string): string[] => text.split(/[\s,]+/).filter((url) => url !== '');

/** What is to be published. Empty fields are left out. */
export function publicationInputOf(org: string, typed: Publication): PublishModelInput {
  const [upstreamModel, upstreamKey] = [typed.upstreamModel.trim(), typed.upstreamKey.trim()];
  return {
    org,
    name: typed.name.trim(),
    kind: typed.kind,
    mode: 'always_on',
    contextTokens: typedWhole(typed.contextTokens.trim()),
    urls: urlsOf(typed.urls),
    ...(upstreamModel ? { upstreamModel } : {}),
    ...(upstreamKey ? { upstreamKey } : {}),
  };
}

/** What a test of the connection asks: only what the servers can do, not how it fits the form. */
export function connectionOf(org: string, typed: Publication): CheckModelInput {
  const { urls = [], upstreamKey } = publicationInputOf(org, typed);
  return { org, urls, ...(upstreamKey ? { upstreamKey } : {}) };
}

/** What is checked before publishing. */
export function checkOf(org: string, typed: Publication): CheckModelInput {
  const { name, contextTokens, upstreamModel } = publicationInputOf(org, typed);
  return { ...connectionOf(org, typed), name, contextTokens, ...(upstreamModel ? { upstreamModel } : {}) };
}

/**
 * Fills in what a server reports about a model. Keeps a name that was typed, and a context length
 * that the server does not report.
 */
export function filledIn(
  typed: Publication,
  { name, upstreamModel, kind, contextTokens }: ServedModelView,
  before: ServedModelView | undefined,
): Publication {
  const own = typed.name.trim() !== '' && typed.name !== before?.name;
  const published = own ? typed.name : name;
  return {
    ...typed,
    name: published,
    kind,
    contextTokens: contextTokens === null ? typed.contextTokens : String(contextTokens),
    upstreamModel: published === upstreamModel ? '' : upstreamModel,
  };
}
