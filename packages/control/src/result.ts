import type { z } from 'zod';

export type RefusalCode =
  /** A field is missing or not allowed; `field` names it. */
  | 'invalid_input'
  /** The actor's role does not allow it. */
  | 'forbidden'
  | 'not_found'
  /** It contradicts what is there: a name taken, a key not revoked yet, the last owner. */
  | 'conflict'
  /** The plan, or a ceiling of the service, is reached. */
  | 'limit_reached'
  /** Written, but a service that must know could not be told. Running the operation again is safe. */
  | 'unavailable';

export interface Fault {
  /** One sentence for people: what is wrong and what is allowed. Holds no secret. */
  readonly message: string;
  /** Input field that it is about. */
  readonly field?: string;
}

/** An operation that was not done as asked. A value, never thrown. */
export interface ControlRefusal extends Fault {
  readonly code: RefusalCode;
  /** What else is wrong with the input, at most one fault a field. */
  readonly others?: readonly Fault[];
}

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: ControlRefusal };

export const ok = <T>(value: T): Result<T> => ({ ok: true, value });

export const refuse = (
  code: RefusalCode,
  message: string,
  field?: string,
): { readonly ok: false; readonly refusal: ControlRefusal } => ({
  ok: false,
  refusal: { code, message, ...(field === undefined ? {} : { field }) },
});

/** All that is wrong with an input. */
export const refuseInput = (first: Fault, ...others: readonly Fault[]) => {
  const refusal: ControlRefusal = {
    code: 'invalid_input',
    ...first,
    ...(others.length > 0 ? { others } : {}),
  };
  return { ok: false as const, refusal };
};

/** Input checked against its schema. The refusal holds every field that is wrong, with the first thing wrong about it. */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): Result<z.output<S>> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return ok(parsed.data);
  const faults = new Map<string, Fault>();
  for (const { path, message } of parsed.error.issues) {
    const field = String(path[0] ?? '');
    if (!faults.has(field)) faults.set(field, field === '' ? { message } : { message, field });
  }
  const [first = { message: 'The input is not valid.' }, ...others] = faults.values();
  return refuseInput(first, ...others);
}
