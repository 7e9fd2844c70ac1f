import { parseArgs } from 'node:util';
import { BEHAVIOURS, type Parsed, parseBehaviour } from './behaviour.ts';
import type { StandinOptions } from './server.ts';

const FLAGS = {
  port: { type: 'string' },
  host: { type: 'string' },
  name: { type: 'string', multiple: true },
  kind: { type: 'string' },
  context: { type: 'string' },
  'startup-ms': { type: 'string' },
  key: { type: 'string' },
} as const;

const BEHAVIOUR_FLAGS: object = Object.fromEntries(
  Object.entries(BEHAVIOURS).map(([name, kind]) => [
    name,
    { type: kind === 'switch' ? 'boolean' : 'string' },
  ]),
);

export const USAGE = `Usage: tidegate-standin [--port N] [--host H] [--name NAME]... [--kind text|vision] [--context TOKENS]
                        [--startup-ms N] [--key TOKEN] [--BEHAVIOUR[=VALUE]]...
Behaviours: ${Object.keys(BEHAVIOURS).join(', ')}. See the package's README.`;

/** Parses the command line's flags. */
export function parseFlags(args: readonly string[]): Parsed<StandinOptions> {
  try {
    const { values } = parseArgs({ args: [...args], options: { ...BEHAVIOUR_FLAGS, ...FLAGS } });
    const { port = '0', host, name, kind = 'text', context = '8192', key } = values;
    if (kind !== 'text' && kind !== 'vision') return { ok: false, problem: '--kind must be text or vision' };
    const told = Object.entries<unknown>(values).filter(([flag]) => Object.hasOwn(BEHAVIOURS, flag));
    const behaviour = parseBehaviour(
      told.map(([flag, value]) => [flag, value === true ? undefined : String(value)]),
    );
    if (!behaviour.ok) return behaviour;
    return {
      ok: true,
      value: {
        port: wholeNumber('port', port, 65_535),
        ...(host === undefined ? {} : { host }),
        ...(name === undefined ? {} : { names: name }),
        kind,
        contextTokens: wholeNumber('context', context, 100_000_000),
        startupMs: wholeNumber('startup-ms', values['startup-ms'] ?? '0', 86_400_000),
        ...(key === undefined ? {} : { key }),
        behaviour: behaviour.value,
      },
    };
  } catch (error) {
    return { ok: false, problem: (error as Error).message };
  }
}

function wholeNumber(flag: string, text: string, max: number): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) > max)
    throw new RangeError(`--${flag} must be a whole number up to ${max}`);
  return Number(text);
}
