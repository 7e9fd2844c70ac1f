import { parseArgs } from 'node:util';
import { StackError } from './errors.ts';
import type { Scalable, StackOptions } from './options.ts';

export const USAGE = `Usage: npm start -- [options]

  --fresh                 delete all data of the local stack first
  --scale SERVICE=N       run N of SERVICE (gateway, limiter, metering or runner); may be repeated
  --gateway-port N        port of the first gateway (8080); others get the ports after it
  --console-port N        port of the console (3000)
  --data-dir PATH         where data, logs and secrets are kept (TIDEGATE_DATA_DIR, else .local)
  --no-demo               start without the demo organization and its models
  --observe               run a Prometheus that scrapes all services, if PATH or apt has one
  --help                  this text

DATABASE_URL and REDIS_URL name stores of your own; without them, the stack runs its own.`;

const SCALABLE: readonly Scalable[] = ['gateway', 'limiter', 'metering', 'runner'];
const MAX_SCALE = 32;
const MAX_PORT = 65_535;

export type RequestedOptions = Pick<StackOptions, 'fresh' | 'scale' | 'dataDir' | 'demo' | 'observe'> & {
  readonly ports: { readonly gateway?: number; readonly console?: number };
};

/**
 * Parses the arguments of `npm start`. Null: help.
 * @throws StackError that names the bad argument
 */
export function parseArguments(args: readonly string[]): RequestedOptions | null {
  const values = read(args);
  if (values.help) return null;
  const gateway = portOf('--gateway-port', values['gateway-port']);
  const site = portOf('--console-port', values['console-port']);
  return {
    fresh: values.fresh ?? false,
    demo: !values['no-demo'],
    observe: values.observe ?? false,
    scale: scaleOf(values.scale ?? []),
    ...(values['data-dir'] === undefined ? {} : { dataDir: values['data-dir'] }),
    ports: {
      ...(gateway === undefined ? {} : { gateway }),
      ...(site === undefined ? {} : { console: site }),
    },
  };
}

function read(args: readonly string[]) {
  try {
    const options = {
      fresh: { type: 'boolean' },
      scale: { type: 'string', multiple: true },
      'gateway-port': { type: 'string' },
      'console-port': { type: 'string' },
      'data-dir': { type: 'string' },
      'no-demo': { type: 'boolean' },
      observe: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    } as const;
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    throw bad((error as Error).message);
  }
}

const bad = (message: string): StackError => new StackError(message, { hint: USAGE });

function portOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > MAX_PORT) throw bad(`${option} must be a port from 1 to ${MAX_PORT}.`);
  return port;
}

function scaleOf(texts: readonly string[]): NonNullable<StackOptions['scale']> {
  const scale: Partial<Record<Scalable, number>> = {};
  for (const text of texts) {
    const [name = '', count = ''] = text.split('=');
    const service = SCALABLE.find((known) => known === name);
    if (!service) throw bad(`--scale takes one of ${SCALABLE.join(', ')}: ${text}`);
    if (!/^[1-9]\d?$/.test(count) || Number(count) > MAX_SCALE) {
      throw bad(`--scale ${service} takes a number from 1 to ${MAX_SCALE}, as in ${service}=2.`);
    }
    scale[service] = Number(count);
  }
  return scale;
}
