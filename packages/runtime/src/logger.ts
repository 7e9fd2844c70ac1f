import { type Logger, pino } from 'pino';
import { redact } from './redact.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Lines waiting for a slow reader of the output; past it, lines are dropped rather than memory filled. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** Lines leave together: a write each costs a busy service a tenth of its time. What a SIGKILL can lose is this young. */
const WRITE_BYTES = 32 * 1024;
const MAX_WRITE_BYTES = 64 * 1024;
const WRITE_MS = 100;
const MAX_CAUSES = 4;

/** Where lines go. */
export interface Destination {
  write(line: string): unknown;
}

export interface LoggerOptions {
  /** The service's name: a member of every line. */
  readonly service: string;
  readonly level: LogLevel;
  /** What an error means, in plain words, if it is known: written instead of its own message, stack and causes. */
  readonly explain?: (error: unknown) => string | null;
  /** Where lines go; stdout when not given. */
  readonly destination?: Destination;
}

/**
 * A logger of one JSON object a line. Every line passes through `redact`, whatever built it. Of errors only type, code,
 * message, stack and causes are written, or what `explain` says of them: other members may hold content. Of a request, `logger.child({ requestId })`
 * marks its lines with its `x-request-id`.
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

/**
 * Stdout, which may be a file on a full disk: then lines wait, are dropped past their bound, and are written when there is room again.
 * At exit they are not waited for, as pino's own flush would, for ever.
 */
export function openStdout(): Destination {
  const stdout = pino.destination({
    dest: 1,
    sync: false,
    maxLength: MAX_WAITING_BYTES,
    minLength: WRITE_BYTES,
    maxWrite: MAX_WRITE_BYTES,
  });
  // pino's own flush is an interval, which would wake a service that has nothing to write.
  let scheduled = false;
  const flush = () => {
    scheduled = false;
    stdout.flush();
  };
  const flushSoon = () => {
    if (!scheduled) setTimeout(flush, WRITE_MS).unref();
    scheduled = true;
  };
  let waitingBytes = 0;
  const flushSync = stdout.flushSync.bind(stdout);
  let failing = false;
  stdout.flushSync = () => {
    if (!failing) flushSync();
  };
  stdout.on('error', () => {
    failing = true;
    flushSoon();
  });
  stdout.on('write', (bytes: number) => {
    failing = false;
    waitingBytes -= bytes;
  });
  stdout.on('drop', (line: string) => {
    waitingBytes -= Buffer.byteLength(line);
  });
  // A flush does nothing while a write is under way: what came meanwhile is flushed after it.
  stdout.on('drain', () => {
    if (waitingBytes > 0) flushSoon();
  });
  return {
    write(line) {
      waitingBytes += Buffer.byteLength(line);
      stdout.write(line);
      flushSoon();
    },
  };
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
