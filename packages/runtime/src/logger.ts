import { type Logger, pino } from 'pino';
import type { LogLevel } from './levels.ts';
import { redact } from './redact.ts';
import { type Destination, openStdout } from './stdout.ts';

export type { Logger } from 'pino';

const MAX_CAUSES = 4;

export interface LoggerOptions {
  /** The service's name. Every line has it. */
  readonly service: string;
  readonly level: LogLevel;
  /**
   * Explains an error in plain words, in place of its message, stack and causes. Null: it has no
   * explanation.
   */
  readonly explain?: (error: unknown) => string | null;
  /** Default: stdout. */
  readonly destination?: Destination;
}

/**
 * Creates a logger that writes one JSON object per line. Every line passes through `redact`. Of an
 * error it writes only type, code, message, stack and causes, or what `explain` says: other members
 * may contain content. `logger.child({ requestId })` marks lines with a request's `x-request-id`.
 */
export function createLogger({ service, level, explain, destination }: LoggerOptions): Logger {
  const sink = destination ?? openStdout();
  const record = (error: unknown): ErrorRecord => {
    const message = explain?.(error) ?? null;
    return message !== null && error instanceof Error ? { type: error.name, message } : errorRecord(error);
  };
  return pino(
    {
      level,
      base: { service, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: {
        err: record,
        error: record,
      },
    },
    { write: (line) => void sink.write(redact(line)) },
  );
}

interface ErrorRecord {
  readonly type: string;
  readonly code?: string | number;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: ErrorRecord;
}

function errorRecord(error: unknown, depth = 0): ErrorRecord {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const code = (error as { code?: unknown }).code;
  return {
    type: error.name,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    message: error.message,
    ...(error.stack ? { stack: error.stack } : {}),
    ...(error.cause !== undefined && depth < MAX_CAUSES
      ? { cause: errorRecord(error.cause, depth + 1) }
      : {}),
  };
}
