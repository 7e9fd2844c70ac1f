import { randomBase62 } from '@tidegate/contracts';

const MARK_LENGTH = 18;
/** Of what was found, so that it tells what it is. */
const SHOWN_CHARACTERS = 60;

/** A form in which a text may have been kept. */
interface Needle {
  readonly what: string;
  readonly bytes: Buffer;
}

/**
 * Content that must be found nowhere. Each piece carries one mark of letters and digits only, which stands as it is in JSON,
 * URLs, HTML and header values; the other forms are searched for beside it.
 */
export class Canaries {
  readonly #mark = `canary${randomBase62(MARK_LENGTH).toLowerCase()}`;
  readonly #needles: Needle[] = formsOf('a canary', this.#mark);

  /** Content to send, named after where it is put. */
  at(place: string): string {
    return `${this.#mark}${place}`;
  }

  /** A value of the product's own making that must not be kept either. */
  add(what: string, value: string): void {
    this.#needles.push(...formsOf(what, value));
  }

  /** What of it is in these bytes, and around where. */
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

/** What stands in the base64 of any bytes that hold these ones at an index of remainder `offset` by 3. */
function base64Core(bytes: Buffer, offset: number): Buffer {
  const skipped = (3 - offset) % 3;
  const whole = bytes.length - skipped - ((bytes.length - skipped) % 3);
  return Buffer.from(bytes.subarray(skipped, skipped + whole).toString('base64'));
}
