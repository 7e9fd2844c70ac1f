import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import { closeDb, createDb, type Db } from './client.ts';
import type { Prisma } from './generated/client.ts';

let server: TestPostgres;
let db: Db;
const orgId = 'org_000000000000';

beforeAll(async () => {
  server = await testPostgres();
  db = createDb(server.url, PATIENT_DB);
  await db.org.create({ data: { id: orgId, slug: 'acme', name: 'Acme', planId: 'plan_free' } });
});
afterAll(async () => {
  await closeDb(db);
  await server.drop();
});

let serial = 0;
function key(values: Partial<Prisma.ApiKeyUncheckedCreateInput>): Promise<unknown> {
  serial++;
  const hash = new Uint8Array(createHash('sha256').update(String(serial)).digest());
  const limits = { requestsPerMinute: 60, requestsAtOnce: 4 };
  return db.apiKey.create({
    data: {
      id: `key_${serial}`,
      orgId,
      name: 'k',
      prefix: 'ti_abcdef',
      hash,
      allModels: true,
      ...limits,
      ...values,
    },
  });
}
function model(values: Partial<Prisma.ModelUncheckedCreateInput>): Promise<{ id: string }> {
  serial++;
  const fixed = {
    kind: 'text',
    mode: 'always_on',
    contextTokens: 4096,
    driver: 'external',
    condition: 'stopped',
  } as const;
  return db.model.create({
    data: { id: `mdl_${serial}`, orgId, name: 'm', ...fixed, settings: {}, ...values },
  });
}

describe('the database itself refuses', () => {
  it.each<[string, Partial<Prisma.ApiKeyUncheckedCreateInput>]>([
    ['0 requests a minute', { requestsPerMinute: 0 }],
    ['6,001 requests a minute', { requestsPerMinute: 6001 }],
    ['0 requests at once', { requestsAtOnce: 0 }],
    ['257 requests at once', { requestsAtOnce: 257 }],
    ['an empty name', { name: '' }],
    ['a name of 81 characters [limit.key-name]', { name: 'x'.repeat(81) }],
    ['a hash of the wrong size', { hash: new Uint8Array(31) }],
    ['a prefix that could be the whole value [key.value.not-stored]', { prefix: `ti_${'x'.repeat(20)}` }],
  ])('a key with %s', async (_, values) => {
    await expect(key(values)).rejects.toThrow('check');
  });

  it('no key at the bounds', async () => {
    await key({ requestsPerMinute: 6000, requestsAtOnce: 256, name: 'ü'.repeat(80) });
    await key({ requestsPerMinute: 1, requestsAtOnce: 1, name: 'x' });
  });

  it('a plan of more than 50 keys', async () => {
    const update = db.plan.update({ where: { id: 'plan_pro' }, data: { keys: 51 } });
    await expect(update).rejects.toThrow('plan_keys_check');
  });

  it('two models of one name, until the first is deleted', async () => {
    const { id } = await model({ name: 'twice' });
    await expect(model({ name: 'twice' })).rejects.toThrow('Unique constraint');
    await db.model.update({ where: { id }, data: { deletedAt: new Date() } });
    await model({ name: 'twice' });
  });
});
