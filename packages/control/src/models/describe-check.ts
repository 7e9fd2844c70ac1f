import type { Inspection } from '../deps.ts';
import { numberText } from '../numbers.ts';

const MOST_NAMED = 5;
const MAX_NAME_LENGTH = 80;
/** What a server is called that does not say what it is, or only to those with a key. */
const UNKNOWN: readonly string[] = ['', 'A model server', 'A server'];

interface Wanted {
  readonly upstreamModel: string;
  readonly contextTokens: number | undefined;
}

/** What a check of one server found, in sentences for users. */
export function describeCheck(
  { problem, server, version, models }: Inspection,
  { upstreamModel, contextTokens = 0 }: Wanted,
): { readonly problem: boolean; readonly text: string } {
  const known = !UNKNOWN.includes(server);
  const reached = `Reached ${known ? server : 'a server'}${version === '' ? '' : ` ${version}`}.`;
  // If a server does not say what it is, its problem alone tells whether it was reached at all.
  if (problem !== '') return { problem: true, text: known ? `${reached} ${problem}` : problem };
  if (models.length === 0) return { problem: false, text: `${reached} It does not list what it serves.` };
  const wanted = models.find(({ name }) => name === upstreamModel || name === `${upstreamModel}:latest`);
  const only = models.length === 1 ? models[0] : undefined;
  const served = (wanted ?? only)?.contextTokens ?? 0;
  const serves = `${reached} It serves ${named(models)}`;
  if (served > 0 && contextTokens > served) {
    const text = `${serves}. Its context is ${numberText(served)}, less than ${numberText(contextTokens)}.`;
    return { problem: true, text };
  }
  const same = new Set(models.map((model) => model.contextTokens));
  const context = served || (same.size === 1 ? (models[0]?.contextTokens ?? 0) : 0);
  return { problem: false, text: `${serves}${context > 0 ? `, context ${numberText(context)}` : ''}.` };
}

/** `a, b and c` */
function named(models: Inspection['models']): string {
  const shown = models.slice(0, MOST_NAMED).map(({ name }) => shortened(name));
  const more = models.length - shown.length;
  const all = more > 0 ? [...shown, `${more} more`] : shown;
  return all.length === 1 ? (all[0] ?? '') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
}

const shortened = (name: string): string =>
  name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
