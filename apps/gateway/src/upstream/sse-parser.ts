import { UTF8_BYTE_ORDER_MARK } from '../bytes/byte-order-mark.ts';
import { Pieces } from '../bytes/pieces.ts';

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from('data');
/** Older llama.cpp servers report errors in a field of this name instead of `data`. */
const ERROR = Buffer.from('error');

/**
 * Splits a byte stream into the data of its server-sent events, wherever the bytes are cut.
 *
 * Lines end with LF, CRLF or CR. Several data lines of one event are joined with LF. Comments and
 * all other fields are skipped. The value of an `error` field is delivered as the `error` member of
 * an object. The size of an event includes every byte from the end of the previous event to the end
 * of its own blank line, so comments count toward the event that follows them.
 */
export class SseParser {
  readonly #maxEventBytes: number;
  readonly #onData: (data: string) => void;
  readonly #partial = new Pieces();
  #eventBytes = 0;
  #data: string | null = null;
  #afterCr = false;
  #firstLine = true;

  constructor(maxEventBytes: number, onData: (data: string) => void) {
    this.#maxEventBytes = maxEventBytes;
    this.#onData = onData;
  }

  /** How much has come of the event that is not complete. */
  get partialBytes(): number {
    return this.#eventBytes;
  }

  /**
   * Holds at most one event. Returns false if an event is larger than allowed. The parser must not
   * be used after that.
   */
  push(bytes: Buffer): boolean {
    let start = 0;
    if (this.#afterCr && bytes.length > 0) {
      this.#afterCr = false;
      if (bytes[0] === LF) start = 1;
      if (start === 1 && this.#eventBytes > 0 && !this.#count(1)) return false;
    }
    const anyCr = bytes.includes(CR, start);
    while (start < bytes.length) {
      const end = anyCr ? lineEnd(bytes, start) : lineFeed(bytes, start);
      // A model may send single bytes, for which a new view is most of the cost.
      if (end === -1) return this.#keep(start === 0 ? bytes : bytes.subarray(start));
      const next = end + (bytes[end] === CR && bytes[end + 1] === LF ? 2 : 1);
      this.#afterCr = next === bytes.length && bytes[next - 1] === CR;
      if (!this.#count(next - start)) return false;
      this.#line(bytes, start, end);
      start = next;
    }
    return true;
  }

  /** Ends the stream. An event that lacks only its blank line is still delivered. */
  end(): void {
    if (this.#partial.bytes > 0) this.#line(Buffer.alloc(0), 0, 0);
    this.#dispatch();
  }

  #count(bytes: number): boolean {
    this.#eventBytes += bytes;
    return this.#eventBytes <= this.#maxEventBytes;
  }

  #keep(rest: Buffer): boolean {
    this.#partial.add(rest);
    return this.#count(rest.length);
  }

  #line(bytes: Buffer, start: number, end: number): void {
    if (this.#partial.bytes > 0) {
      this.#partial.add(bytes.subarray(start, end));
      const line = this.#partial.take();
      this.#line(line, 0, line.length);
      return;
    }
    if (this.#firstLine) {
      this.#firstLine = false;
      if (bytes.subarray(start, start + UTF8_BYTE_ORDER_MARK.length).equals(UTF8_BYTE_ORDER_MARK))
        start += UTF8_BYTE_ORDER_MARK.length;
    }
    if (start === end) this.#dispatch();
    else if (isField(DATA, bytes, start, end)) this.#append(valueIn(bytes, start + DATA.length, end));
    else if (isField(ERROR, bytes, start, end))
      this.#data = `{"error":${valueIn(bytes, start + ERROR.length, end)}}`;
  }

  #append(value: string): void {
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
  }

  #dispatch(): void {
    const data = this.#data;
    this.#data = null;
    this.#eventBytes = 0;
    if (data) this.#onData(data);
  }
}

/** Every second line is empty, and a call of `indexOf` takes longer than this check. */
const lineFeed = (bytes: Buffer, start: number): number =>
  bytes[start] === LF ? start : bytes.indexOf(LF, start);

function lineEnd(bytes: Buffer, start: number): number {
  for (let i = start; i < bytes.length; i++) if (bytes[i] === LF || bytes[i] === CR) return i;
  return -1;
}

function isField(name: Buffer, bytes: Buffer, start: number, end: number): boolean {
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false;
  const after = start + name.length;
  return after === end || (after < end && bytes[after] === COLON);
}

/** The text after the colon, without one leading space. */
function valueIn(bytes: Buffer, colon: number, end: number): string {
  let start = Math.min(colon + 1, end);
  if (bytes[start] === SPACE && start < end) start++;
  return bytes.toString('utf8', start, end);
}
