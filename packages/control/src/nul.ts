import type { Fault } from './result.ts';

/** Postgres cannot store this character in text. */
const NUL = '\u0000';

/**
 * Why an input cannot be stored in Postgres: one of its strings, at any depth, contains NUL. Null:
 * none does. Looks at each value once, even if the input contains itself.
 */
export function nulFault(input: unknown): Fault | null {
  const fieldOf = new Map<unknown, string>();
  const add = (values: object, field?: string) => {
    for (const [name, value] of Object.entries(values))
      if (!fieldOf.has(value)) fieldOf.set(value, field ?? name);
  };
  if (typeof input === 'object' && input !== null) add(input);
  // The iteration also reaches what is added while it runs.
  for (const [value, field] of fieldOf) {
    if (typeof value === 'string' && value.includes(NUL))
      return { field, message: `The field ${field} must not contain the character NUL (U+0000).` };
    if (typeof value === 'object' && value !== null) add(value, field);
  }
  return null;
}
