/*
 * Scans JSON text for what JSON.parse does not report: how numbers were written, in which order
 * members came, and how many values there are. It accepts exactly what JSON.parse accepts. It
 * neither recurses nor creates values, so hostile text costs time in proportion to its length and
 * almost no memory.
 */

export interface JsonOutline {
  /** Values of every kind at every depth. */
  readonly values: number;
  /** The most containers around a value. */
  readonly depth: number;
  /**
   * The members of the top-level object, in the order of their first appearance, each with the span
   * of its last value. Null: the top level is not an object. Members beyond either limit are left
   * out.
   */
  readonly members: ReadonlyMap<string, JsonSpan> | null;
  /** How many names the top-level object has, repeated ones included. */
  readonly names: number;
  /** The most names in one object at any depth, counted the same way, but only up to 254. */
  readonly widest: number;
}

interface JsonSpan {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LETTER_U = 0x75;
const IN_ARRAY = 255;
const MAX_COUNTED = 254;
/** Shared by all walks: one ends before the next begins. Deeper text needs an array of its own. */
const SHALLOW = new Uint8Array(32 * 1024);

export interface JsonLimits {
  /** Members that begin after this many values are not kept. */
  readonly values: number;
  /** The most names to read: they cost more than the rest of the text. */
  readonly names: number;
}

/** Null: the text is not JSON. */
export function outlineJson(text: string, limits: JsonLimits): JsonOutline | null {
  const walk = new Walk(text, limits);
  if (!walk.run()) return null;
  const { values, depth, members, names, widest } = walk;
  return { values, depth, members, names, widest };
}

class Walk {
  values = 0;
  depth = 0;
  names = 0;
  widest = 0;
  members: Map<string, JsonSpan> | null = null;

  readonly #text: string;
  readonly #limits: JsonLimits;
  #at = 0;
  #depth = 0;
  /** By depth: how many names the object there has had so far; `IN_ARRAY` if it is no object. */
  #names: Uint8Array = SHALLOW;
  #name: string | null = null;
  #valueStart = 0;
  /** Whether the last value opened a container that is not empty. */
  #entered = false;

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#limits = limits;
    this.#names[0] = IN_ARRAY;
  }

  run(): boolean {
    let due = true;
    do {
      if (due) {
        if (!this.#key() || !this.#value()) return false;
        due = this.#entered;
      } else {
        if (!this.#afterValue()) return false;
        due = true;
      }
    } while (this.#depth > 0);
    return Number.isNaN(this.#peek());
  }

  /** A scalar, or the beginning of a container. */
  #value(): boolean {
    const code = this.#peek();
    this.#entered = false;
    this.values++;
    if (this.#depth === 1) this.#valueStart = this.#at;
    if (code === OPEN_OBJECT) return this.#open(true);
    if (code === OPEN_ARRAY) return this.#open(false);
    if (code === QUOTE) return this.#string();
    if (code === 0x2d || isDigit(code)) return this.#number();
    return this.#word('true') || this.#word('false') || this.#word('null');
  }

  #open(object: boolean): boolean {
    if (this.#depth === 0 && object) this.members = new Map();
    this.#at++;
    this.#depth++;
    if (this.#depth > this.depth) this.depth = this.#depth;
    if (this.#depth === this.#names.length) {
      const wider = new Uint8Array(this.#depth * 2);
      wider.set(this.#names);
      this.#names = wider;
    }
    this.#names[this.#depth] = object ? 0 : IN_ARRAY;
    this.#entered = this.#peek() !== (object ? CLOSE_OBJECT : CLOSE_ARRAY);
    return true;
  }

  /** Reads a member's name and colon. Does nothing inside an array or at the top level. */
  #key(): boolean {
    const before = this.#names[this.#depth] as number;
    if (before === IN_ARRAY) return true;
    const names = before === MAX_COUNTED ? before : before + 1;
    this.#names[this.#depth] = names;
    if (names > this.widest) this.widest = names;
    if (this.#peek() !== QUOTE) return false;
    const start = this.#at;
    if (!this.#string()) return false;
    if (this.#depth === 1) {
      this.names++;
      const kept = this.values < this.#limits.values && this.names <= this.#limits.names;
      this.#name = kept ? nameOf(this.#text, start, this.#at) : null;
    }
    if (this.#peek() !== COLON) return false;
    this.#at++;
    return true;
  }

  /** Closes the containers that end here. Stops after a comma, or when no container is open. */
  #afterValue(): boolean {
    for (;;) {
      if (this.#depth === 1 && this.#name !== null) {
        this.members?.set(this.#name, { start: this.#valueStart, end: this.#at });
        this.#name = null;
      }
      const code = this.#peek();
      this.#at++;
      if (code === COMMA) return true;
      if (code !== (this.#names[this.#depth] === IN_ARRAY ? CLOSE_ARRAY : CLOSE_OBJECT)) return false;
      this.#depth--;
      if (this.#depth === 0) return true;
    }
  }

  #string(): boolean {
    const text = this.#text;
    for (let i = this.#at + 1; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === QUOTE) {
        this.#at = i + 1;
        return true;
      }
      if (code < 0x20) return false;
      if (code !== BACKSLASH) continue;
      i++;
      const escaped = text.charCodeAt(i);
      if (escaped === LETTER_U) {
        for (let digit = 0; digit < 4; digit++) if (!isHex(text.charCodeAt(++i))) return false;
      } else if (!isEscapable(escaped)) return false;
    }
    return false;
  }

  #number(): boolean {
    const text = this.#text;
    let i = this.#at;
    if (text.charCodeAt(i) === 0x2d) i++;
    const first = text.charCodeAt(i);
    if (!isDigit(first)) return false;
    i = first === 0x30 ? i + 1 : afterDigits(text, i);
    if (text.charCodeAt(i) === 0x2e) {
      if (!isDigit(text.charCodeAt(i + 1))) return false;
      i = afterDigits(text, i + 1);
    }
    if ((text.charCodeAt(i) | 0x20) === 0x65) {
      i++;
      const sign = text.charCodeAt(i);
      if (sign === 0x2b || sign === 0x2d) i++;
      if (!isDigit(text.charCodeAt(i))) return false;
      i = afterDigits(text, i);
    }
    this.#at = i;
    return true;
  }

  #word(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  /** The next character that is not white space; NaN at the end. */
  #peek(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.#at++;
    }
  }
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

const isHex = (code: number): boolean => isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);

/** The characters that may follow a backslash, except `u`. */
const isEscapable = (code: number): boolean =>
  code === QUOTE ||
  code === BACKSLASH ||
  code === 0x2f ||
  code === 0x62 ||
  code === 0x66 ||
  code === 0x6e ||
  code === 0x72 ||
  code === 0x74;

function afterDigits(text: string, from: number): number {
  let i = from;
  while (isDigit(text.charCodeAt(i))) i++;
  return i;
}

function nameOf(text: string, start: number, end: number): string {
  const quoted = text.slice(start, end);
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}
