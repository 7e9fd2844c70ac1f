import type { Refusal } from '../errors.ts';
import { invalidRequest } from './refusals.ts';

const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;
const MAX_INT64_CHARACTERS = 20;

/** Reads and checks the fields of a body, and keeps the first refusal. */
export class FieldReader {
  refusal: Refusal | null = null;

  readonly #body: Readonly<Record<string, unknown>>;
  readonly #sourceOf: (name: string) => string;

  /** @param sourceOf returns the JSON text of a top-level member's value */
  constructor(body: Readonly<Record<string, unknown>>, sourceOf: (name: string) => string) {
    this.#body = body;
    this.#sourceOf = sourceOf;
  }

  /** Undefined: missing or null. */
  sent(name: string): unknown {
    return this.#body[name] ?? undefined;
  }

  /** A required string that is not empty. */
  name(name: string): string {
    const value = this.sent(name);
    if (value === undefined) return this.fail(`${name} is required: the name of a published model.`, '');
    if (typeof value === 'string' && value !== '') return value;
    const must = value === '' ? 'must not be empty' : 'must be a string';
    return this.fail(`${name} ${must}: the name of a published model.`, '');
  }

  string(name: string): void {
    const value = this.sent(name);
    if (value !== undefined && typeof value !== 'string') this.fail(`${name} must be a string.`, undefined);
  }

  boolean(name: string): boolean | undefined {
    const value = this.sent(name);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.fail(`${name} must be true or false.`, undefined);
  }

  number(name: string, allowed: string, fits: (value: number) => boolean): number | undefined {
    const value = this.sent(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && fits(value)) return value;
    return this.fail(`${name} must be a number ${allowed}.`, undefined);
  }

  /** Refuses 100.0 and 1e2, although they parse to integers. `min` and `max` are safe integers. */
  integer(name: string, min: number, max: number): number | undefined {
    const value = this.sent(name);
    if (value === undefined) return undefined;
    const written =
      typeof value === 'number' && value >= min && value <= max && INTEGER.test(this.#sourceOf(name));
    if (written) return value === 0 ? 0 : value;
    const allowed = min === max ? `${min}` : `an integer from ${min} to ${max}`;
    return this.fail(`${name} must be ${allowed}, written without fraction or exponent.`, undefined);
  }

  /** A 64-bit integer. A JavaScript number could not hold all of them exactly. */
  int64(name: string): bigint | null {
    const value = this.sent(name);
    if (value === undefined) return null;
    const source = this.#sourceOf(name);
    // The length is checked first, because converting a million digits would take long.
    if (typeof value === 'number' && source.length <= MAX_INT64_CHARACTERS && INTEGER.test(source)) {
      const integer = BigInt(source);
      if (integer === BigInt.asIntN(64, integer)) return integer;
    }
    const allowed = `an integer from ${-(2n ** 63n)} to ${2n ** 63n - 1n}`;
    return this.fail(`${name} must be ${allowed}, written without fraction or exponent.`, null);
  }

  fail<T>(message: string, instead: T): T {
    return this.reject(invalidRequest(message), instead);
  }

  reject<T>(refusal: Refusal, instead: T): T {
    this.refusal ??= refusal;
    return instead;
  }
}
