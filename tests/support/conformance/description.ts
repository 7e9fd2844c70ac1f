import {
  type DescribedHeader,
  type DescribedOperation,
  type DescribedReference,
  type DescribedResponse,
  type Description,
  readDescription,
} from '@tidegate/testing';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** docs/openapi.yaml, in the form that tests use: how requests and answers must look. */

/** The prefix of the description's paths. */
export const PREFIX = '/v1';

export const description: Description = await readDescription();

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
  readonly headers: Readonly<Record<string, DescribedHeader>>;
  /** The reference of the schema, by media type without parameters. */
  readonly content: Readonly<Record<string, string>>;
}

/**
 * What the description says about answers with this status. Null: nothing, so there must be no such
 * answer.
 */
export function ruleOf(method: string, path: string, status: number): AnswerRule | null {
  const operations = description.paths[path.startsWith(PREFIX) ? path.slice(PREFIX.length) : ''];
  // For a wrong method, the path's other operation describes the answer. For an unknown path or
  // invalid HTTP, `elsewhere` does.
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
 * Describes answers to unknown paths and to invalid HTTP. 429 is for everything from a blocked
 * address.
 */
function elsewhere(status: number): DescribedOperation | undefined {
  return [400, 404, 408, 429].includes(status) ? description.paths['/models']?.get : undefined;
}

const nameIn = ({ $ref }: DescribedReference) => $ref.slice($ref.lastIndexOf('/') + 1);
const responseAt = (ref: DescribedReference) =>
  description.components.responses[nameIn(ref)] as DescribedResponse;
const headerAt = (ref: DescribedReference) => description.components.headers[nameIn(ref)] as DescribedHeader;

/** What is wrong with a header's value. Null: nothing. */
export function problemWithHeader({ schema }: DescribedHeader, value: string): string | null {
  return ajv.validate(schema, value) ? null : ajv.errorsText(ajv.errors, { dataVar: value });
}
