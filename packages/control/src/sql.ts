import type { Db } from '@tidegate/db';

/*
 * SQL that is put together from parts. Prisma has the same, but its code may not be loaded here:
 * browsers load this package's types and rules.
 */

/** A part of a statement. Its values are parameters, never text. */
export interface Sql {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];
}

/** A part of a statement. A value that is a part itself becomes part of the text. */
export const sql = (strings: readonly string[], ...values: readonly unknown[]): Sql => ({ strings, values });

export const NOTHING: Sql = sql(['']);

/** Runs a statement. */
export function query<T>(db: Db, statement: Sql): Promise<T[]> {
  const parameters: unknown[] = [];
  const textOf = ({ strings, values }: Sql): string =>
    strings.reduce((text, part, i) => {
      const value = values[i - 1];
      if (isSql(value)) return text + textOf(value) + part;
      parameters.push(value);
      return `${text}$${parameters.length}${part}`;
    });
  const text = textOf(statement);
  return db.$queryRawUnsafe<T[]>(text, ...parameters);
}

const isSql = (value: unknown): value is Sql =>
  typeof value === 'object' && value !== null && 'strings' in value && 'values' in value;
