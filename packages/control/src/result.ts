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

/** An operation that was not done as asked. A value, never thrown. */
export interface ControlRefusal {
  readonly code: RefusalCode;
  /** One sentence for people: what is wrong and what is allowed. Holds no secret. */
  readonly message: string;
  /** Input field the refusal is about. */
  readonly field?: string;
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

/** Input checked against its schema; the first issue is the refusal. */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): Result<z.output<S>> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return ok(parsed.data);
  const issue = parsed.error.issues[0];
  return refuse('invalid_input', issue?.message ?? 'The input is not valid.', issue?.path.join('.'));
}
