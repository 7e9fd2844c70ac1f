import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testEnv } from '@tidegate/testing';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parse } from 'yaml';

/** docs/openapi.yaml, in the form that tests use: how requests and answers must look. */

export const DESCRIPTION_URL = new URL('../../../docs/openapi.yaml', import.meta.url);
/** The prefix of the description's paths. */
export const PREFIX = '/v1';

interface Reference {
  readonly $ref: string;
}

interface Header {
  readonly required?: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
}

interface ResponseObject {
  readonly headers: Readonly<Record<string, Reference>>;
  readonly content: Readonly<Record<string, MediaType>>;
}

interface MediaType {
  readonly schema: Reference;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface Operation {
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
}

export interface ErrorRule {
  readonly status: number;
  readonly type: string;
  readonly retryAfter: boolean;
  readonly shouldRetry?: false;
}

export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly 'x-errors': Readonly<Record<string, ErrorRule>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, unknown>> }>>;
  };
}

export const description = readDescription();

/** Parsing takes half a second, so one file's tests leave the result as JSON for the others'. */
function readDescription(): Description {
  const parsed = join(testEnv('directory'), 'openapi.json');
  try {
    return JSON.parse(readFileSync(parsed, 'utf8')) as Description;
  } catch {
    const found = parse(readFileSync(DESCRIPTION_URL, 'utf8')) as Description;
    writeFileSync(`${parsed}.${process.pid}`, JSON.stringify(found));
    renameSync(`${parsed}.${process.pid}`, parsed);
    return found;
  }
}

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
ajv.addVocabulary(['components']);
const { schemas } = description.components;
ajv.addSchema({ components: { schemas } }, 'api');

/** What is wrong with a value, by a schema of the description. Null: nothing. */
export function problemWith(schema: string, value: unknown): string | null {
  const validate = ajv.getSchema(`api${schema}`) as ValidateFunction | undefined;
  if (!validate) throw new Error(`the description has no schema ${schema}`);
  return validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: '' });
}

export const REQUEST = '#/components/schemas/ChatCompletionRequest';

export interface AnswerRule {
  readonly headers: Readonly<Record<string, Header>>;
  /** The reference of the schema, by media type without parameters. */
  readonly content: Readonly<Record<string, string>>;
}

/**
 * What the description says of answers with this status. Null: nothing, so there must be no such
 * answer.
 */
export function ruleOf(method: string, path: string, status: number): AnswerRule | null {
  const operations = description.paths[path.startsWith(PREFIX) ? path.slice(PREFIX.length) : ''];
  // For a wrong method, the path's other operation describes the answer. For an unknown path or no
  // valid HTTP, `elsewhere` does.
  const operation =
    operations?.[method.toLowerCase()] ?? Object.values(operations ?? {})[0] ?? elsewhere(status);
  const found = operation?.responses[String(status)];
  if (!found) return null;
  const { headers, content } = '$ref' in found ? responseAt(found) : found;
  return {
    headers: Object.fromEntries(Object.entries(headers).map(([name, ref]) => [name, headerAt(ref)])),
    content: Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, schema.$ref])),
  };
}

/**
 * Describes answers to unknown paths and to what is no valid HTTP. 429 is for everything from a
 * blocked address.
 */
function elsewhere(status: number): Operation | undefined {
  return [400, 404, 408, 429].includes(status) ? description.paths['/models']?.get : undefined;
}

const nameIn = ({ $ref }: Reference) => $ref.slice($ref.lastIndexOf('/') + 1);
const responseAt = (ref: Reference) => description.components.responses[nameIn(ref)] as ResponseObject;
const headerAt = (ref: Reference) => description.components.headers[nameIn(ref)] as Header;

/** What is wrong with a header's value. Null: nothing. */
export function problemWithHeader({ schema }: Header, value: string): string | null {
  return ajv.validate(schema, value) ? null : ajv.errorsText(ajv.errors, { dataVar: value });
}
