import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { readSecretFiles, secret, type Variables } from '@tidegate/runtime/settings';
import { parse } from 'yaml';
import { z } from 'zod';
import { CommandError } from './context.ts';

/** What `bootstrap` is asked to create. Control checks the values. */
export interface BootstrapSettings {
  readonly plans: readonly { readonly name: string; readonly [value: string]: unknown }[];
  readonly organization?: { readonly name: string; readonly plan?: string | undefined } | undefined;
  readonly owner?: { readonly email: string } | undefined;
}

const fileSchema = z.strictObject({
  plans: z.array(z.looseObject({ name: z.string() })).default([]),
  organization: z.strictObject({ name: z.string(), plan: z.string().optional() }).optional(),
  owner: z.strictObject({ email: z.string() }).optional(),
});

/** Read besides the file, or instead of it. Where both set something, the variable wins. */
export const schema = z.object({
  BOOTSTRAP_ORG: z
    .string()
    .optional()
    .describe(
      'For `ctl bootstrap`: the name of [the first organization](operations.md#the-first-organization). Needs `BOOTSTRAP_OWNER`',
    ),
  BOOTSTRAP_PLAN: z.string().optional().describe('Its plan. Free if not set'),
  BOOTSTRAP_OWNER: z.string().optional().describe("The owner's e-mail address"),
  BOOTSTRAP_PASSWORD: secret(z.string().optional()).describe("The owner's password, if the account is new"),
});

/**
 * Reads the file, if there is one, and the variables.
 * @throws CommandError, ConfigError
 */
export function readBootstrapSettings(
  file: string | undefined,
  env: Variables,
): BootstrapSettings & { readonly password?: string } {
  const given = schema.parse(readSecretFiles(schema, env));
  const written = file === undefined ? fileSchema.parse({}) : readFile(file);
  const { BOOTSTRAP_ORG: org, BOOTSTRAP_PLAN: plan, BOOTSTRAP_OWNER: email, BOOTSTRAP_PASSWORD } = given;
  const name = org ?? written.organization?.name;
  const wanted = {
    plans: written.plans,
    organization: name === undefined ? undefined : { name, plan: plan ?? written.organization?.plan },
    owner: email === undefined ? written.owner : { email },
  };
  if ((wanted.organization === undefined) !== (wanted.owner === undefined))
    throw new CommandError(
      'An organization needs an owner, and an owner an organization: give both (organization.name and owner.email, or BOOTSTRAP_ORG and BOOTSTRAP_OWNER), or neither.',
    );
  return BOOTSTRAP_PASSWORD === undefined ? wanted : { ...wanted, password: BOOTSTRAP_PASSWORD };
}

function readFile(file: string): z.output<typeof fileSchema> {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new CommandError(`Cannot read ${file}: ${(error as Error).message}`);
  }
  if (!isUtf8(bytes)) throw new CommandError(`${file} is not UTF-8.`);
  let content: unknown;
  try {
    content = parse(bytes.toString('utf8')) ?? {};
  } catch (error) {
    throw new CommandError(`${file} is neither YAML nor JSON: ${(error as Error).message.split('\n', 1)[0]}`);
  }
  const parsed = fileSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  throw new CommandError(
    parsed.error.issues
      .map(({ path, message }) => `${file}: ${path.length > 0 ? `${path.join('.')}: ` : ''}${message}`)
      .concat(
        'Allowed: plans (a list, each with a name and its values), organization (name, plan), owner (email).',
      )
      .join('\n'),
  );
}
