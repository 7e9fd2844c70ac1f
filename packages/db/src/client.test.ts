import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import { closeDb, createDb, type Db } from './client.ts';

let server: TestPostgres;
let db: Db;

beforeAll(async () => {
  server = await testPostgres();
  db = createDb(server.url, { ...PATIENT_DB, maxConnections: 1, statementTimeoutMs: 200 });
});

afterAll(async () => {
  await closeDb(db);
  await server.drop();
});

type Asks = Pick<Db, '$queryRaw'>;

async function backendOf(asks: Asks): Promise<number> {
  const [row] = await asks.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  return row?.pid ?? 0;
}

it('a statement that takes too long is ended by Postgres', async () => {
  await expect(db.$queryRaw`SELECT 1 FROM pg_sleep(30)`).rejects.toThrow(/statement timeout/);
});

it('a connection that hangs within a transaction fails what is asked over it, and is not used again', async () => {
  let hung = 0;
  try {
    const transaction = db.$transaction(async (tx) => {
      hung = await backendOf(tx);
      process.kill(hung, 'SIGSTOP');
      await backendOf(tx);
    });
    await expect(transaction).rejects.toThrow();
    expect(await backendOf(db)).not.toBe(hung);
  } finally {
    process.kill(hung, 'SIGCONT');
  }
});
