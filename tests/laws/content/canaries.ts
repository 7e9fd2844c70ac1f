import { randomBase62 } from '@tidegate/contracts';

const MARK_LENGTH = 18;
/** How much of a finding to show, so that it can be identified. */
const SHOWN_CHARACTERS = 60;

/** A form in which a text may have been kept. */
interface Needle {
  readonly what: string;
  readonly bytes: Buffer;
}

/**
 * Content that must not be found anywhere. Each piece contains the same mark. The mark consists of
 * letters and digits, so JSON, URLs, HTML and header values leave it unchanged. Other encodings of
 * it are searched for, too.
 */
export class Canaries {
  readonly #mark = `canary${randomBase62(MARK_LENGTH).toLowerCase()}`;
  readonly #needles: Needle[] = formsOf('a canary', this.#mark);

  /** Content to send, named after the place where it is put. */
  at(place: string): string {
    return `${this.#mark}${place}`;
  }

  /** Adds a value that the product generated and must not keep either. */
  add(what: string, value: string): void {
    this.#needles.push(...formsOf(what, value));
  }

  /** The findings in these bytes, each with the text that follows. */
  findIn(bytes: Buffer): string[] {
    return this.#needles.flatMap(({ what, bytes: needle }) => {
      const at = bytes.indexOf(needle);
      if (at < 0) return [];
      return [`${what}: ${bytes.toString('latin1', at, at + SHOWN_CHARACTERS)}`];
    });
  }
}

function formsOf(what: string, text: string): Needle[] {
  const bytes = Buffer.from(text);
  const needle = (form: string, needleBytes: Buffer): Needle => ({
    what: `${what} ${form}`,
    bytes: needleBytes,
  });
  const each = (form: (byte: number) => string) => Buffer.from([...bytes].map(form).join(''));
  const hex = (byte: number) => byte.toString(16).padStart(2, '0');
  return [
    needle('as it is', bytes),
    needle('in UTF-16', Buffer.from(text, 'utf16le')),
    needle('in hex', each(hex)),
    needle(
      'in capital hex',
      each((byte) => hex(byte).toUpperCase()),
    ),
    needle(
      'URL-encoded',
      each((byte) => `%${hex(byte)}`),
    ),
    needle(
      'in JSON escapes',
      each((byte) => `\\u00${hex(byte)}`),
    ),
    ...[0, 1, 2].map((offset) => needle('in base64', base64Core(bytes, offset))),
  ];
}

/**
 * The part of the base64 of any data that contains `bytes` at an index with remainder `offset`
 * modulo 3. It does not depend on the bytes around them.
 */
function base64Core(bytes: Buffer, offset: number): Buffer {
  const skipped = (3 - offset) % 3;
  const whole = bytes.length - skipped - ((bytes.length - skipped) % 3);
  return Buffer.from(bytes.subarray(skipped, skipped + whole).toString('base64'));
}
