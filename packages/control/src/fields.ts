import { POOL_NAME } from '@tidegate/contracts';
import { expiryInstantMs } from '@tidegate/limits';
import { z } from 'zod';
import { numberText } from './numbers.ts';

/*
 * Kinds of input fields. Every message is a sentence that names the field as users know it and says
 * what is allowed.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/u;
/**
 * Characters that no one can see: control and format characters, including those that change the
 * direction of text, line and paragraph separators, lone surrogates, private and unassigned
 * characters, and fillers.
 */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** Letters, marks and pictures that look different with a joiner between them. */
const JOINABLE = [
  ...['Arabic', 'Syriac', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu'],
  ...['Kannada', 'Malayalam', 'Sinhala', 'Khmer'],
]
  .map((script) => `\\p{Script=${script}}`)
  .concat('\\p{Extended_Pictographic}', '\\p{Emoji_Modifier}', '\\ufe0f')
  .join('');
const JOINER = new RegExp(`(?<=[${JOINABLE}])[\\u200c\\u200d](?=[${JOINABLE}])`, 'gu');
/**
 * The character that shows the picture before it in colour. Digits, # and * become pictures only in
 * a keycap: elsewhere, this character after them is invisible.
 */
const PICTURE_STYLE = /(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=\p{Emoji})(?<=\p{Extended_Pictographic})\ufe0f/gu;

/** A whole number from `min` to `max`. */
export function wholeBetween(label: string, min: number, max: number) {
  const error = `${label} must be a whole number from ${numberText(min)} to ${numberText(max)}.`;
  return z.number({ error }).refine((value) => Number.isSafeInteger(value) && value >= min && value <= max, {
    error,
  });
}

/** Trimmed text of 1 to `max` characters (code points) without control characters. */
export function text(label: string, max: number, missing?: string) {
  const long = `${label} must have 1 to ${numberText(max)} characters.`;
  const none = missing ?? long;
  return z
    .string({ error: none })
    .trim()
    .refine((value) => value.length > 0, { error: none })
    .refine((value) => [...value].length <= max, { error: long })
    .refine((value) => !CONTROL.test(value), {
      error: `${label} must not have line breaks or other control characters.`,
    });
}

/**
 * A name by which people tell things apart. It may not contain what they cannot see, because then
 * two different names could look the same.
 */
export function nameField(label: string, max: number) {
  const error = `${label} must not have invisible characters, or characters that change the direction of text.`;
  const isVisible = (value: string) => !INVISIBLE.test(value.replace(JOINER, '').replace(PICTURE_STYLE, ''));
  const missing = `Give a name of 1 to ${numberText(max)} characters.`;
  return text(label, max, missing).refine(isVisible, { error });
}

export function choice<const T extends readonly [string, ...string[]]>(label: string, values: T) {
  return z.enum(values, { error: `${label} must be one of: ${values.join(', ')}.` });
}

/** The name of a pool of runners. */
export const poolField = (label: string) => {
  const error = `${label} must be 1 to 63 lowercase letters, digits and -, starting with a letter or digit.`;
  return z.string({ error }).regex(POOL_NAME, { error });
};

/** Whether the text is an existing day, as YYYY-MM-DD. */
export function isDay(value: string): boolean {
  try {
    return expiryInstantMs(value) > 0;
  } catch {
    return false;
  }
}

/** An id, slug or e-mail that names something. It is only compared, never stored. */
export const reference = (label: string) => {
  const given = `${label} must be given.`;
  const rule = `${label} must be text of 1 to 400 characters.`;
  return z
    .string({ error: ({ input }) => (input === undefined ? given : rule) })
    .trim()
    .min(1, { error: given })
    .max(400, { error: rule });
};

/** The organization's id or slug. Without it, the operation takes the actor's only organization. */
export const orgField = reference('Organization').optional();
