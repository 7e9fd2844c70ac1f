import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Socket } from 'node:net';
import { SECRET_NAME } from '../../isolation/model-env.ts';

/**
 * What a process has printed since its launch. Forget it once the process is ready: later output
 * may contain prompts.
 */
export interface ProcessOutput {
  /**
   * The last part of the output, unchanged. Waits up to `endMs` for what the process printed just
   * before it ended.
   */
  tail(endMs: number): Promise<string>;
  forget(): void;
}

/** The most that is kept of the output. */
const MAX_TAIL_BYTES = 8 * 1024;

export const NO_OUTPUT: ProcessOutput = { tail: async () => '', forget: () => {} };

/** Captures the output from a stream. Reads it until `forget`. */
export function captureOutput(stream: Socket): ProcessOutput {
  let tail = Buffer.alloc(0);
  let ended: () => void = () => {};
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  stream.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]);
    if (tail.length > MAX_TAIL_BYTES) tail = Buffer.from(tail.subarray(-MAX_TAIL_BYTES));
  });
  stream.on('error', () => {});
  stream.unref();
  stream.once('close', ended);
  return {
    tail: async (endMs) => {
      const timer = setTimeout(ended, endMs);
      await end;
      clearTimeout(timer);
      return wholeLines(tail);
    },
    forget: () => {
      tail = Buffer.alloc(0);
      stream.destroy();
    },
  };
}

/**
 * Reads what was appended to a log after its first `fromBytes` bytes. The log may have been
 * restarted since.
 */
export function readOutputFromLog(file: string, fromBytes: number): ProcessOutput {
  return {
    tail: async () => {
      let fd: number | null = null;
      try {
        fd = openSync(file, 'r');
        const { size } = fstatSync(fd);
        const start = size < fromBytes ? 0 : fromBytes;
        const tail = Buffer.alloc(Math.min(size - start, MAX_TAIL_BYTES));
        const length = readSync(fd, tail, 0, tail.length, size - tail.length);
        return wholeLines(tail.subarray(0, length));
      } catch {
        return '';
      } finally {
        if (fd !== null) closeSync(fd);
      }
    },
    forget: () => {},
  };
}

/** Drops a first line whose beginning is missing: half a secret would not be recognized as one. */
function wholeLines(tail: Buffer): string {
  const text = tail.toString('utf8');
  if (tail.length < MAX_TAIL_BYTES) return text;
  const end = text.search(/[\r\n]/);
  return end < 0 ? '' : text.slice(end + 1);
}

const MAX_LINES = 5;
const MAX_LINE_LENGTH = 300;
const MAX_LENGTH = 1_024;

/**
 * The last lines of a text, in a form that may be shown: bounded, without control characters, with
 * secrets replaced.
 */
export function lastLines(text: string, secrets: readonly string[]): string {
  let hidden = text;
  for (const secret of secrets) hidden = hidden.replaceAll(secret, '[hidden]');
  const lines = hidden
    .split('\n')
    .map(shown)
    .filter((line) => line !== '')
    .slice(-MAX_LINES);
  const kept: string[] = [];
  let length = 0;
  for (const line of lines.reverse()) {
    length += Buffer.byteLength(line) + 1;
    if (length > MAX_LENGTH) break;
    kept.unshift(line);
  }
  return kept.join('\n');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-_])/g;

/** A line as a terminal would show it: text before a carriage return is overwritten. */
function shown(line: string): string {
  const last = line.replace(ESCAPES, '').trimEnd().split('\r').at(-1) ?? '';
  const clean = last
    .replace(/\t/g, ' ')
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim();
  return clean.length > MAX_LINE_LENGTH ? `${clean.slice(0, MAX_LINE_LENGTH)}…` : clean;
}

const SECRET_ARGUMENT = /(?:^|[\s_-])(?:api[_-]?key|key|token|secret|password)(?:=|\s+)["']?([^\s"']+)/gi;
const MIN_SECRET_LENGTH = 6;

/** Secrets that the process may know, the longest first. */
export function secretsOf(
  env: Readonly<Record<string, string>>,
  command: string,
  upstreamKeys: readonly string[],
): string[] {
  const given = Object.entries(env).flatMap(([name, value]) => (SECRET_NAME.test(name) ? value : []));
  const argued = [...command.matchAll(SECRET_ARGUMENT)].map(([, value]) => value ?? '');
  return [...upstreamKeys, ...given, ...argued]
    .filter(({ length }) => length >= MIN_SECRET_LENGTH)
    .sort((a, b) => b.length - a.length);
}
