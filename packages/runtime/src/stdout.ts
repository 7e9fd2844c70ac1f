import { write, writeSync } from 'node:fs';

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
/** The time after a write that failed. A pipe that is only full is tried again after WRITE_MS. */
const FAILED_MS = 1_000;
/** At exit, a full pipe gets a second in all, in short steps, for its reader to empty it. */
const LAST_TRIES = 100;
const LAST_TRY_MS = 10;
const STDOUT = 1;

/**
 * Opens stdout for lines. It may be a file on a full disk, or a pipe whose reader is slow or gone.
 * Then lines wait, and are dropped past their bound. At exit, those that stdout takes are written
 * synchronously. Pino's own destination would then retry for ever.
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

class Stdout implements Destination {
  /** The oldest first, without what is being written. The first may be the rest of a line. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isWriting = false;
  #isDue = false;

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) return;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#writeWhenDue();
  }

  /** At exit. */
  writeLast(): void {
    let rest = Buffer.concat(this.#waiting.splice(0));
    for (let tries = 0; rest.length > 0 && tries < LAST_TRIES; ) {
      try {
        rest = rest.subarray(writeSync(STDOUT, rest));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
        tries++;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_TRY_MS);
      }
    }
  }

  #writeWhenDue(): void {
    if (this.#isWriting || this.#waitingBytes === 0) return;
    if (this.#waitingBytes >= WRITE_BYTES) this.#writeNow();
    else if (!this.#isDue) this.#writeSoon();
  }

  /** The timer does not keep the process alive: what still waits is written at exit. */
  #writeSoon(): void {
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      this.#writeNow();
    }, WRITE_MS).unref();
  }

  #writeNow(): void {
    if (this.#isWriting || this.#waitingBytes === 0) return;
    this.#isWriting = true;
    const piece = this.#take();
    write(STDOUT, piece, (error, written) => {
      const rest = error ? piece : piece.subarray(written);
      if (rest.length > 0) this.#waiting.unshift(rest);
      this.#waitingBytes += rest.length;
      if (!error) {
        this.#isWriting = false;
        return this.#writeWhenDue();
      }
      setTimeout(
        () => {
          this.#isWriting = false;
          this.#writeNow();
        },
        error.code === 'EAGAIN' ? WRITE_MS : FAILED_MS,
      ).unref();
    });
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
}
