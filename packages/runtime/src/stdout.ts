import { writeSync } from 'node:fs';

/** Where log lines go. */
export interface Destination {
  write(line: string): unknown;
}

/** Lines may wait for a slow reader of stdout. Past this bound they are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/**
 * Lines are written together, because a write for each costs a busy service a tenth of its time. A
 * SIGKILL loses at most the lines of the last WRITE_MS.
 */
const WRITE_BYTES = 32 * 1024;
const MAX_WRITE_BYTES = 64 * 1024;
const WRITE_MS = 100;
/** The time after which a full pipe is tried again. */
const FULL_MS = 10;
/** The time after which a write that failed is tried again. */
const FAILED_MS = 1_000;
/** At exit, the reader of a full pipe gets one second in all to empty it. */
const LAST_TRIES = 100;

/**
 * Opens stdout for lines. If it is a file on a full disk, or a pipe whose reader is slow or gone,
 * lines wait, and are dropped past their bound. Pino's own destination would retry forever. At
 * exit, the waiting lines that stdout still accepts are written.
 */
export function openStdout(): Destination {
  if (opened) return opened;
  const stdout = new Stdout();
  process.on('exit', () => stdout.writeLast());
  opened = stdout;
  return stdout;
}

/** All loggers of a process share it, so that their lines stay in order. */
let opened: Destination | undefined;

/**
 * Writes synchronously. At exit, nothing could wait for a write that another thread still makes,
 * and the last lines would end up among those of that write.
 */
class Stdout implements Destination {
  /** Node makes a pipe non-blocking when its stdout is first used. So a write takes what fits. */
  readonly #fd = process.stdout.fd;
  /** The oldest first. The first may be the rest of a line. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Whether the last write left something. Then lines wait for the timer. */
  #isStuck = false;
  #isDue = false;

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) return;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= WRITE_BYTES && !this.#isStuck) this.#writeNow();
    else this.#writeIn(WRITE_MS);
  }

  /** At exit. */
  writeLast(): void {
    for (let tries = 0; tries < LAST_TRIES && this.#writeAll() === FULL_MS; tries++)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_MS);
  }

  #writeNow(): void {
    const waitMs = this.#writeAll();
    this.#isStuck = waitMs > 0;
    if (this.#isStuck) this.#writeIn(waitMs);
  }

  /** The timer does not keep the process alive: what still waits is written at exit. */
  #writeIn(ms: number): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      this.#writeNow();
    }, ms).unref();
  }

  /** Returns the time after which to try again. 0: everything is written. */
  #writeAll(): number {
    while (this.#waiting.length > 0) {
      const piece = this.#take();
      let written = 0;
      try {
        written = writeSync(this.#fd, piece);
      } catch (error) {
        this.#putBack(piece);
        return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? FULL_MS : FAILED_MS;
      }
      if (written < piece.length) {
        this.#putBack(piece.subarray(written));
        return FULL_MS;
      }
    }
    return 0;
  }

  /** Takes whole lines that fit into one write, at least one. */
  #take(): Buffer {
    let bytes = 0;
    let lines = 0;
    for (const { length } of this.#waiting) {
      if (lines > 0 && bytes + length > MAX_WRITE_BYTES) break;
      bytes += length;
      lines++;
    }
    this.#waitingBytes -= bytes;
    return Buffer.concat(this.#waiting.splice(0, lines));
  }

  #putBack(piece: Buffer): void {
    this.#waiting.unshift(piece);
    this.#waitingBytes += piece.length;
  }
}
