/*
 * What the stand-in can be told to do. The same names are directives in a request's last user
 * message (`[[tokens=50]]`), command-line flags (`--tokens 50`), and defaults set with `POST
 * /behaviour`.
 */

/**
 * Each behaviour has a kind of value. A `switch` takes none, an `integer` is 0 or more, `counts`
 * are three integers, and `text` is anything without `]`.
 */
export const BEHAVIOURS = {
  tokens: 'integer',
  say: 'text',
  unicode: 'switch',
  bytes: 'integer',
  'event-bytes': 'integer',
  finish: 'text',

  'head-delay-ms': 'integer',
  'delay-ms': 'integer',
  'token-ms': 'integer',
  held: 'switch',
  silence: 'switch',

  after: 'integer',
  stall: 'switch',
  die: 'switch',
  exit: 'switch',
  'inband-error': 'switch',
  garbage: 'switch',

  status: 'integer',
  error: 'text',
  health: 'integer',

  'no-usage': 'switch',
  usage: 'counts',
  'usage-on-last': 'switch',
  'no-done': 'switch',
  linger: 'switch',

  'merged-first': 'switch',
  crlf: 'switch',
  comments: 'switch',
  'split-bytes': 'integer',
  reasoning: 'switch',
  'tool-calls': 'switch',
  'null-content': 'switch',
} as const satisfies Record<string, 'switch' | 'integer' | 'counts' | 'text'>;

interface ValueOf {
  readonly switch: true;
  readonly integer: number;
  readonly counts: readonly [number, number, number];
  readonly text: string;
}

export type BehaviourName = keyof typeof BEHAVIOURS;
export type Behaviour = { readonly [N in BehaviourName]?: ValueOf[(typeof BEHAVIOURS)[N]] };

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

const DIRECTIVE = /\[\[([a-z-]+)(?:=([^\]]*))?\]\]/g;
const INTEGER = /^\d{1,9}$/;

/**
 * Reads the directives in a text. If a name appears twice, the last one wins. An unknown name is a
 * problem, so that no test silently tests nothing.
 */
export function parseDirectives(text: string): Parsed<Behaviour> {
  if (!text.includes('[[')) return { ok: true, value: {} };
  return parseBehaviour([...text.matchAll(DIRECTIVE)].map(([, name = '', value]) => [name, value]));
}

/** Reads pairs of a name and its value as text. */
export function parseBehaviour(pairs: Iterable<readonly [string, string | undefined]>): Parsed<Behaviour> {
  const behaviour: Record<string, unknown> = {};
  for (const [name, text] of pairs) {
    if (!Object.hasOwn(BEHAVIOURS, name)) return { ok: false, problem: `unknown behaviour: ${name}` };
    const value = readValue(BEHAVIOURS[name as BehaviourName], text);
    if (value === undefined) return { ok: false, problem: `bad value for ${name}` };
    behaviour[name] = value;
  }
  return { ok: true, value: behaviour };
}

function readValue(kind: keyof ValueOf, text: string | undefined): ValueOf[keyof ValueOf] | undefined {
  if (kind === 'switch') return text === undefined ? true : undefined;
  if (text === undefined) return undefined;
  if (kind === 'text') return text;
  if (kind === 'integer') return INTEGER.test(text) ? Number(text) : undefined;
  const counts = text.split(',').map(Number);
  const [prompt, completion, total] = counts;
  if (counts.length !== 3 || prompt === undefined || completion === undefined || total === undefined)
    return undefined;
  return counts.some(Number.isNaN) ? undefined : [prompt, completion, total];
}
