import { type Logger, pino } from 'pino';
import type { LogLevel } from './levels.ts';
import { redact } from './redact.ts';

export type { Logger } from 'pino';

/** Lines may wait for a slow reader of stdout. Past this bound they are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/**
 * Lines are written together, because a write for each costs a busy service a tenth of its time. A
 * SIGKILL loses at most the lines of the last WRITE_MS.
 */
const WRITE_BYTES = 32 * 1024;
const MAX_WRITE_BYTES = 64 * 1024;
const WRITE_MS = 100;
const MAX_CAUSES = 4;

/** Where log lines go. */
export interface Destination {
  write(line: string): unknown;
}

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

/**
 * Opens stdout, which may be a file on a full disk. Then lines wait until there is room again, and
 * are dropped past their bound. At exit we do not wait for them; pino's own flush would, for ever.
 */
export function openStdout(): Destination {
  const stdout = pino.destination({
    dest: 1,
    sync: false,
    maxLength: MAX_WAITING_BYTES,
    minLength: WRITE_BYTES,
    maxWrite: MAX_WRITE_BYTES,
    // As text, everything that waits would be copied with each line, to count its bytes again.
    contentMode: 'buffer',
  });
  // pino's own flush is an interval. It would wake a service that has nothing to write.
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
  stdout.on('drop', (line: Buffer) => {
    waitingBytes -= line.length;
  });
  // A flush does nothing while a write is under way. So lines that arrive meanwhile are flushed
  // after it.
  stdout.on('drain', () => {
    if (waitingBytes > 0) flushSoon();
  });
  return {
    write(line) {
      const bytes = Buffer.from(line);
      waitingBytes += bytes.length;
      // The declared type takes text only.
      stdout.write(bytes as unknown as string);
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
