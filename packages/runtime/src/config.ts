import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { isGuessable } from './guessable.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

interface Issue {
  readonly variable: string;
  readonly reason: string;
}

/** The environment is invalid. The message names every bad variable and shows no value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly issues: readonly Issue[];
  readonly variables: readonly string[];

  constructor(issues: readonly Issue[]) {
    super(
      `Bad configuration:\n${issues.map(({ variable, reason }) => `  ${variable}: ${reason}`).join('\n')}`,
    );
    this.issues = issues;
    this.variables = [...new Set(issues.map(({ variable }) => variable))];
  }
}

/**
 * Marks a field as secret: the variable NAME_FILE may give the path of a file that holds the value.
 * This must be the outermost call in the field's definition, except for `describe`.
 */
export const secret = <S extends z.ZodType>(field: S): S => field.meta({ secret: true });

/**
 * Parses a program's environment variables once, at its start. An empty variable counts as not set.
 * Variables that the schema does not name are ignored. With NODE_ENV `production`, no secret may be
 * guessable.
 *
 * @param derive further members, each made from several variables. They may throw a ConfigError
 * @throws ConfigError with everything that is wrong
 */
export function loadConfig<S extends z.ZodObject, D extends object = object>(
  schema: S,
  env: Variables = process.env,
  derive: Derive<S, D> = {} as Derive<S, D>,
): z.output<S> & D {
  const { set, issues } = withFiles(schema, env);
  if (env.NODE_ENV === 'production') issues.push(...guessableIn(schema, set));
  const parsed = schema.safeParse(set);
  issues.push(...wrongIn(set, issues, parsed.error));
  const config = parsed.success ? parsed.data : validIn(schema, set);
  const known = new Set(issues.map(({ variable }) => variable));
  const derived: Partial<Record<string, unknown>> = {};
  for (const [name, make] of Object.entries<(config: z.output<S>) => unknown>(derive)) {
    try {
      derived[name] = make(config);
    } catch (error) {
      if (error instanceof ConfigError)
        issues.push(...error.issues.filter((one) => !known.has(one.variable)));
      // Otherwise it failed because it needs a variable that is wrong.
      else if (issues.length === 0) throw error;
    }
  }
  const all = new Map(issues.map((issue) => [`${issue.variable} ${issue.reason}`, issue]));
  if (all.size > 0) throw new ConfigError([...all.values()]);
  return { ...config, ...derived } as z.output<S> & D;
}

type Derive<S extends z.ZodObject, D extends object> = {
  readonly [K in keyof D]: (config: z.output<S>) => D[K];
};

function wrongIn(set: Record<string, string>, issues: readonly Issue[], error?: z.ZodError): Issue[] {
  const unread = new Set(issues.map(({ variable }) => variable.replace(/_FILE$/, '')));
  return (error?.issues ?? []).flatMap(({ path, message }) => {
    const variable = String(path[0] ?? 'environment');
    if (unread.has(variable)) return [];
    return [{ variable, reason: variable in set || path.length === 0 ? message : 'is not set' }];
  });
}

/** The valid fields, so that what is derived from them can be checked as well. */
const validIn = <S extends z.ZodObject>(schema: S, set: Record<string, string>): z.output<S> =>
  Object.fromEntries(
    Object.entries(schema.shape).flatMap(([name, field]) => {
      const { success, data } = (field as z.ZodType).safeParse(set[name]);
      return success ? [[name, data]] : [];
    }),
  ) as z.output<S>;

/**
 * Returns the variables that are set. Where a secret's NAME_FILE is set, the result has NAME with
 * the file's content instead.
 * @throws ConfigError
 */
export function readSecretFiles(schema: z.ZodObject, env: Variables = process.env): Record<string, string> {
  const { set, issues } = withFiles(schema, env);
  if (issues.length > 0) throw new ConfigError(issues);
  return set;
}

const isSecret = (field: unknown): boolean => (field as z.ZodType).meta()?.secret === true;

const guessableIn = (schema: z.ZodObject, set: Record<string, string>): Issue[] =>
  Object.entries(schema.shape)
    .filter(([name, field]) => isSecret(field) && set[name] !== undefined && isGuessable(set[name]))
    .map(([variable]) => ({ variable, reason: 'can be guessed: use a random one' }));

function withFiles(schema: z.ZodObject, env: Variables) {
  const set: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value) set[name] = value;
  const issues: Issue[] = [];
  for (const [name, field] of Object.entries(schema.shape)) {
    const variable = `${name}_FILE`;
    const file = set[variable];
    if (file === undefined || !isSecret(field)) continue;
    delete set[variable];
    if (name in set) issues.push({ variable, reason: `is set, and so is ${name}: unset one of them` });
    else readInto(set, name, file, (reason) => issues.push({ variable, reason }));
  }
  return { set, issues };
}

function readInto(
  set: Record<string, string>,
  name: string,
  file: string,
  failed: (reason: string) => void,
): void {
  try {
    const bytes = readFileSync(file);
    const value = bytes.toString('utf8').replace(/\r?\n$/, '');
    if (value === '') failed('names an empty file');
    else if (!isUtf8(bytes)) failed('names a file that is not UTF-8');
    else set[name] = value;
  } catch (error) {
    // Does not say which file: the value may be the secret itself, set by mistake.
    failed(`names a file that cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
