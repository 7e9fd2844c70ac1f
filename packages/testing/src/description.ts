import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testEnv } from './env.ts';

export const DESCRIPTION_URL = new URL('../../../docs/openapi.yaml', import.meta.url);

export interface DescribedReference {
  readonly $ref: string;
}

export interface DescribedHeader {
  readonly required?: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
}

export interface DescribedResponse {
  readonly headers: Readonly<Record<string, DescribedReference>>;
  readonly content: Readonly<Record<string, MediaType>>;
}

interface MediaType {
  readonly schema: DescribedReference;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface DescribedOperation {
  readonly responses: Readonly<Record<string, DescribedResponse | DescribedReference>>;
}

interface ErrorRule {
  readonly status: number;
  readonly type: string;
  readonly retryAfter: boolean;
  readonly shouldRetry?: false;
}

/** What tests use of docs/openapi.yaml. */
export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: {
    readonly 'x-errors': Readonly<Record<string, ErrorRule>>;
    readonly headers: Readonly<Record<string, DescribedHeader>>;
    readonly responses: Readonly<Record<string, DescribedResponse>>;
    readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, unknown>> }>>;
  };
}

/** Parsing takes half a second, so one file's tests leave the result as JSON for the others'. */
export async function readDescription(): Promise<Description> {
  const parsed = join(testEnv('directory'), 'openapi.json');
  try {
    return JSON.parse(readFileSync(parsed, 'utf8')) as Description;
  } catch {
    const { parse } = await import('yaml');
    const found = parse(readFileSync(DESCRIPTION_URL, 'utf8')) as Description;
    writeFileSync(`${parsed}.${process.pid}`, JSON.stringify(found));
    renameSync(`${parsed}.${process.pid}`, parsed);
    return found;
  }
}
