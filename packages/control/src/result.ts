import type { z } from 'zod';

export type RefusalCode =
  /** A field is missing or has a value that is not allowed. `field` names it. */
  | 'invalid_input'
  /** The actor's role does not allow it. */
  | 'forbidden'
  | 'not_found'
  /**
   * The current state does not allow it: a name is taken, a key is not revoked, an owner is the
   * last one.
   */
  | 'conflict'
  /** A limit of the plan or of the service is reached. */
  | 'limit_reached'
  /**
   * A service that must take part could not be reached. It is safe to repeat the operation.
   */
  | 'unavailable';

export interface Fault {
  /** A sentence for users: what is wrong and what is allowed. It contains no secret. */
  readonly message: string;
  /** The input field at fault. */
  readonly field?: string;
}

/** Why an operation was not done as asked. It is a value and is never thrown. */
export interface ControlRefusal extends Fault {
  readonly code: RefusalCode;
  /** What else is wrong with the input. At most one fault for each field. */
  readonly others?: readonly Fault[];
}

export interface Done<T> {
  readonly ok: true;
  readonly value: T;
  /**
   * A sentence for users that says that the change is saved, that the service that must enforce it
   * could not be reached, and when it takes effect. Absent: it is in force. It is safe to repeat
   * the operation.
   */
  readonly notInForce?: string;
}

export type Result<T> = Done<T> | { readonly ok: false; readonly refusal: ControlRefusal };

export const ok = <T>(value: T): Done<T> => ({ ok: true, value });

export const refuse = (
  code: RefusalCode,
  message: string,
  field?: string,
): { readonly ok: false; readonly refusal: ControlRefusal } => ({
  ok: false,
  refusal: { code, message, ...(field === undefined ? {} : { field }) },
});

/** Refuses an input for all its faults. */
export const refuseInput = (first: Fault, ...others: readonly Fault[]) => {
  const refusal: ControlRefusal = {
    code: 'invalid_input',
    ...first,
    ...(others.length > 0 ? { others } : {}),
  };
  return { ok: false as const, refusal };
};

/** Parses input by its schema. The refusal lists every invalid field with its first fault. */
export function parseInput<S extends z.ZodObject>(schema: S, input: unknown): Result<z.output<S>> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return ok(parsed.data);
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return refuseInput({
      message: `The input must be an object with: ${Object.keys(schema.shape).join(', ')}.`,
    });
  const faults = new Map<string, Fault>();
  for (const { path, message } of parsed.error.issues) {
    const field = String(path[0] ?? '');
    if (!faults.has(field)) faults.set(field, field === '' ? { message } : { message, field });
  }
  const [first = { message: 'The input is not valid.' }, ...others] = faults.values();
  return refuseInput(first, ...others);
}
