import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import internals from '@prisma/internals';
import { type TestPostgres, testPostgres } from '@tidegate/testing';
import pg from 'pg';

/** The parts of Prisma's parsed schema that this test looks at. */
interface Field {
  name: string;
  dbName?: string;
  kind: 'scalar' | 'enum' | 'object';
  isRequired: boolean;
  type: string;
  nativeType: [string, string[]] | null;
  default?: string | number | boolean | { name: string };
  relationFromFields?: string[];
  relationToFields?: string[];
  relationOnDelete?: string;
}
interface SchemaModel {
  name: string;
  dbName: string;
  fields: Field[];
}
interface Schema {
  models: SchemaModel[];
  enums: { name: string; dbName: string; values: { name: string }[] }[];
  indexes: { model: string; type: 'id' | 'unique' | 'normal'; fields: { name: string }[] }[];
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** These are only in the database, because Prisma's language cannot express them. */
const PARTIAL_INDEXES = [
  'model: unique (org_id, name) where deleted_at IS NULL',
  'request: index (org_id, admitted_at, error_code, key_id, model_id) where NOT answered',
];
const SQL_TYPES: Record<string, string> = {
  String: 'text',
  Int: 'integer',
  BigInt: 'bigint',
  Float: 'double precision',
  Boolean: 'boolean',
  Json: 'jsonb',
  Bytes: 'bytea',
};
const NATIVE_TYPES: Record<string, (argument?: string) => string> = {
  Timestamptz: (digits) => `timestamp(${digits}) with time zone`,
  Date: () => 'date',
  Char: (length) => `character(${length})`,
  Decimal: () => 'numeric',
};
const ON_DELETE: Record<string, string> = { Cascade: 'CASCADE', Restrict: 'RESTRICT', SetNull: 'SET NULL' };

let schema: Schema;
let server: TestPostgres;
let client: pg.Client;

beforeAll(async () => {
  schema = await parseSchema();
  server = await testPostgres();
  client = new pg.Client({ connectionString: server.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await server.drop();
});

async function parseSchema(): Promise<Schema> {
  const datamodel = await readFile(join(ROOT, 'prisma', 'schema.prisma'), 'utf8');
  return (await internals.getDMMF({ datamodel })).datamodel as unknown as Schema;
}

const modelOf = (name: string): SchemaModel => {
  const model = schema.models.find((candidate) => candidate.name === name);
  if (model === undefined) throw new Error(`no model ${name}`);
  return model;
};
const columnOf = (model: SchemaModel, name: string): string =>
  model.fields.find((field) => field.name === name)?.dbName ?? name;
const columnsOf = (model: SchemaModel, names: string[]): string =>
  names.map((name) => columnOf(model, name)).join(', ');

function typeOf({ kind, type, nativeType }: Field): string | undefined {
  if (kind === 'enum') return schema.enums.find(({ name }) => name === type)?.dbName;
  if (nativeType !== null) return NATIVE_TYPES[nativeType[0]]?.(nativeType[1][0]);
  return SQL_TYPES[type];
}

function defaultOf({ type, default: value }: Field): string {
  if (value === undefined) return '';
  if (typeof value === 'object')
    return value.name === 'now' ? ' default CURRENT_TIMESTAMP' : ` default ${value.name}()`;
  return type === 'String' ? ` default '${value}'::text` : ` default ${value}`;
}

function schemaColumns(): string[] {
  return schema.models.flatMap((model) =>
    model.fields
      .filter(({ kind }) => kind !== 'object')
      .map((field) => {
        const nullable = field.isRequired ? ' not null' : '';
        return `${model.dbName}.${columnOf(model, field.name)} ${typeOf(field)}${nullable}${defaultOf(field)}`;
      }),
  );
}

function schemaKeys(): string[] {
  return schema.indexes.map(({ model: name, type, fields }) => {
    const model = modelOf(name);
    const kind = { id: 'primary key', unique: 'unique', normal: 'index' }[type];
    return `${model.dbName}: ${kind} (${columnsOf(
      model,
      fields.map((field) => field.name),
    )})`;
  });
}

function schemaReferences(): string[] {
  return schema.models.flatMap((model) =>
    model.fields
      .filter(({ relationFromFields }) => (relationFromFields?.length ?? 0) > 0)
      .map(({ type, relationFromFields = [], relationToFields = [], relationOnDelete = '' }) => {
        const target = modelOf(type);
        const to = `${target.dbName}(${columnsOf(target, relationToFields)})`;
        const from = columnsOf(model, relationFromFields);
        return `${model.dbName}: (${from}) to ${to} on update CASCADE on delete ${ON_DELETE[relationOnDelete]}`;
      }),
  );
}

async function lines(sql: string): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(sql);
  return rows.map(({ line }) => line);
}

const TABLES = `
  SELECT oid, relname FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname <> '_prisma_migrations'`;

const columnList = (keys: string, relation: string): string => `
  (SELECT string_agg(a.attname, ', ' ORDER BY k.n) FROM unnest(${keys}) WITH ORDINALITY k (attnum, n)
   JOIN pg_attribute a ON a.attrelid = ${relation} AND a.attnum = k.attnum)`;

const COLUMNS = `
  SELECT t.relname || '.' || a.attname || ' ' || replace(format_type(a.atttypid, a.atttypmod), '"', '')
    || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
    || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') AS line
  FROM (${TABLES}) t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum`;

const KEYS = `
  SELECT t.relname || ': '
    || CASE WHEN i.indisprimary THEN 'primary key' WHEN i.indisunique THEN 'unique' ELSE 'index' END
    || ' (' || ${columnList('i.indkey::int2[]', 't.oid')} || ')'
    || coalesce(' where ' || btrim(pg_get_expr(i.indpred, i.indrelid), '()'), '') AS line
  FROM (${TABLES}) t JOIN pg_index i ON i.indrelid = t.oid`;

const ACTIONS = (column: string) =>
  `CASE ${column} WHEN 'c' THEN 'CASCADE' WHEN 'r' THEN 'RESTRICT' WHEN 'n' THEN 'SET NULL' END`;
const REFERENCES = `
  SELECT t.relname || ': (' || ${columnList('c.conkey', 'c.conrelid')} || ') to ' || f.relname
    || '(' || ${columnList('c.confkey', 'c.confrelid')} || ') on update ' || ${ACTIONS('c.confupdtype')}
    || ' on delete ' || ${ACTIONS('c.confdeltype')} AS line
  FROM (${TABLES}) t JOIN pg_constraint c ON c.conrelid = t.oid AND c.contype = 'f'
  JOIN pg_class f ON f.oid = c.confrelid`;

const ENUMS = `
  SELECT t.typname || ': ' || string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder) AS line
  FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid GROUP BY t.typname`;

describe('schema.prisma and the migrated database agree', () => {
  it('on tables, columns, types, nullability and defaults', async () => {
    expect((await lines(COLUMNS)).sort()).toEqual(schemaColumns().sort());
  });

  it('on primary keys, unique keys and indexes, partial indexes aside', async () => {
    expect((await lines(KEYS)).sort()).toEqual([...schemaKeys(), ...PARTIAL_INDEXES].sort());
  });

  it('on references and what deleting does', async () => {
    expect((await lines(REFERENCES)).sort()).toEqual(schemaReferences().sort());
  });

  it('on enums and the order of their values', async () => {
    const expected = schema.enums.map(
      ({ dbName, values }) => `${dbName}: ${values.map(({ name }) => name).join(', ')}`,
    );
    expect((await lines(ENUMS)).sort()).toEqual(expected.sort());
  });
});
