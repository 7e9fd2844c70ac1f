import type { LogLevel } from './levels.ts';
import { redact } from './redact.ts';
import type { Destination } from './stdout.ts';

/** Numbers, booleans, ids and words from closed sets. Never what a caller wrote. */
export type LineFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type LineLog = (fields: LineFields, message: string) => void;

export interface LineLogOptions {
  readonly service: string;
  readonly level: LogLevel;
  /** The logger's, so that lines stay in order. */
  readonly destination: Destination;
  /** Unix time. */
  readonly nowMs: () => number;
}

const WITHOUT_INFO: ReadonlySet<LogLevel> = new Set(['fatal', 'error', 'warn', 'silent']);
/** Text that needs no escaping. */
const PLAIN = /^[\w.-]*$/;
const KEY_PREFIX = 'ti_';

/**
 * Creates a fast logger for the line of each request. Its lines look like those of `createLogger`
 * at level `info`, at a tenth of the cost. Fields that are null, undefined or empty are left out.
 */
export function createLineLog({ service, level, destination, nowMs }: LineLogOptions): LineLog {
  if (WITHOUT_INFO.has(level)) return () => {};
  const tail = `","service":"${service}","pid":${process.pid}`;
  return (fields, message) => {
    let line = `{"level":"info","time":"${new Date(nowMs()).toISOString()}${tail}`;
    for (const name in fields) {
      const value = fields[name];
      if (value === null || value === undefined || value === '') continue;
      line += `,"${name}":${typeof value === 'string' ? quoted(value) : value}`;
    }
    destination.write(`${line},"msg":"${message}"}\n`);
  };
}

const quoted = (text: string): string =>
  PLAIN.test(text) && !text.includes(KEY_PREFIX) ? `"${text}"` : redact(JSON.stringify(text));
