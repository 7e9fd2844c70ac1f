const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from('data');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Splits a byte stream into the data of its server-sent events, wherever the bytes are cut.
 *
 * Lines end with LF, CRLF or CR. Several data lines of an event are joined with LF; comments and all other fields are
 * skipped. An event's bytes are counted from the end of the event before it, so comments count toward the next one.
 */
export class SseParser {
  readonly #maxEventBytes: number;
  readonly #onData: (data: string) => void;
  #partial: Buffer[] = [];
  #partialBytes = 0;
  #eventBytes = 0;
  #data: string | null = null;
  #afterCr = false;
  #firstLine = true;

  constructor(maxEventBytes: number, onData: (data: string) => void) {
    this.#maxEventBytes = maxEventBytes;
    this.#onData = onData;
  }

  /** Keeps no more than one event. False: an event is larger than allowed, and the parser must not be used again. */
  push(bytes: Buffer): boolean {
    let start = 0;
    if (this.#afterCr && bytes.length > 0) {
      this.#afterCr = false;
      if (bytes[0] === LF) start = 1;
    }
    const anyCr = bytes.includes(CR, start);
    while (start < bytes.length) {
      const end = anyCr ? lineEnd(bytes, start) : bytes.indexOf(LF, start);
      if (end === -1) return this.#keep(bytes.subarray(start));
      if (!this.#line(bytes, start, end)) return false;
      start = end + 1;
      if (bytes[end] !== CR) continue;
      if (start === bytes.length) this.#afterCr = true;
      else if (bytes[start] === LF) start++;
    }
    return true;
  }

  /** The stream is over: an event that lacks only its blank line is still delivered. */
  end(): boolean {
    if (this.#partialBytes > 0 && !this.#line(Buffer.alloc(0), 0, 0)) return false;
    this.#dispatch();
    return true;
  }

  #keep(rest: Buffer): boolean {
    this.#partial.push(rest);
    this.#partialBytes += rest.length;
    return this.#eventBytes + this.#partialBytes <= this.#maxEventBytes;
  }

  #line(bytes: Buffer, start: number, end: number): boolean {
    if (this.#partialBytes > 0) return this.#joinedLine(bytes.subarray(start, end));
    if (this.#firstLine) {
      this.#firstLine = false;
      if (bytes.subarray(start, start + BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK))
        start += BYTE_ORDER_MARK.length;
    }
    if (start === end) {
      this.#dispatch();
      return true;
    }
    this.#eventBytes += end - start + 1;
    if (this.#eventBytes > this.#maxEventBytes) return false;
    if (isDataLine(bytes, start, end)) this.#append(bytes, start + DATA.length, end);
    return true;
  }

  #joinedLine(rest: Buffer): boolean {
    this.#partial.push(rest);
    const line = Buffer.concat(this.#partial);
    this.#partial = [];
    this.#partialBytes = 0;
    return this.#line(line, 0, line.length);
  }

  #append(bytes: Buffer, colon: number, end: number): void {
    let start = Math.min(colon + 1, end);
    if (bytes[start] === SPACE && start < end) start++;
    const value = bytes.toString('utf8', start, end);
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
  }

  #dispatch(): void {
    const data = this.#data;
    this.#data = null;
    this.#eventBytes = 0;
    if (data) this.#onData(data);
  }
}

function lineEnd(bytes: Buffer, start: number): number {
  for (let i = start; i < bytes.length; i++) if (bytes[i] === LF || bytes[i] === CR) return i;
  return -1;
}

function isDataLine(bytes: Buffer, start: number, end: number): boolean {
  for (let i = 0; i < DATA.length; i++) if (bytes[start + i] !== DATA[i]) return false;
  const after = start + DATA.length;
  return after === end || (after < end && bytes[after] === COLON);
}
