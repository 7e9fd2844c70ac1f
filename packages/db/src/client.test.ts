import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { eventually, PATIENT_DB, TcpProxy, type TestPostgres, testPostgres } from '@tidegate/testing';
import { closeDb, createDb, type Db } from './client.ts';

let server: TestPostgres;
let db: Db;

beforeAll(async () => {
  server = await testPostgres();
});
afterEach(() => closeDb(db));
afterAll(() => server.drop());

/** Creates `db`, with one connection. */
const connect = (statementTimeoutMs: number, url = server.url): void => {
  db = createDb(url, { ...PATIENT_DB, maxConnections: 1, statementTimeoutMs });
};

async function execute(statement: string): Promise<void> {
  const client = createDb(server.url, PATIENT_DB);
  await client.$executeRawUnsafe(statement);
  await closeDb(client);
}

type Asks = Pick<Db, '$queryRaw'>;

async function backendOf(asks: Asks): Promise<number> {
  const [row] = await asks.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  return row?.pid ?? 0;
}

it('a statement that takes too long is ended by Postgres', async () => {
  connect(200);
  // On a busy machine the client may give up, a second later, before it reads what Postgres says.
  const said = () => db.$queryRaw`SELECT 1 FROM pg_sleep(30)`.catch((error: Error) => error.message);
  await eventually(async () => /statement timeout/.test(String(await said())));
});

it('a connection that hangs within a transaction fails its queries, and is not used again', async () => {
  const proxy = await TcpProxy.start(Number(new URL(server.url).port));
  connect(5_000, proxy.urlFor(server.url));
  try {
    let hung = 0;
    const transaction = db.$transaction(async (tx) => {
      hung = await backendOf(tx);
      proxy.hang();
      await backendOf(tx);
    });
    await expect(transaction).rejects.toThrow();
    expect(hung).toBeGreaterThan(0);
    expect(await backendOf(db)).not.toBe(hung);
  } finally {
    await proxy.stop();
  }
});

it.each([
  ['timezone', 'Asia/Tokyo'],
  ['datestyle', 'German'],
])('reads and writes the right instants and days, whatever the %s of the database', async (name, value) => {
  await execute(`ALTER DATABASE "${new URL(server.url).pathname.slice(1)}" SET ${name} TO '${value}'`);
  connect(5_000);
  const noon = new Date('2026-11-12T12:00:00.000Z');
  const [read] = await db.$queryRaw<object[]>`
    SELECT to_timestamp(${noon.getTime() / 1_000}::float8) AS at, '2026-11-12'::date AS day,
      to_timestamp(${noon.getTime() / 1_000}::float8) = ${noon}::timestamptz AS is_same`;
  expect(read).toEqual({ at: noon, day: new Date('2026-11-12'), is_same: true });
});

it('runs transactions that see what others commit meanwhile, whatever the default of the database', async () => {
  const name = new URL(server.url).pathname.slice(1);
  await execute(`ALTER DATABASE "${name}" SET default_transaction_isolation TO 'repeatable read'`);
  connect(5_000);
  const [read] = await db.$transaction(
    (tx) => tx.$queryRaw<object[]>`SELECT current_setting('transaction_isolation') AS level`,
  );
  expect(read).toEqual({ level: 'read committed' });
});
