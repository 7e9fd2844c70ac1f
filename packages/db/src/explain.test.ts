import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import pg from 'pg';
import { closeDb, createDb } from './client.ts';
import { explainPostgres, isRefusedForNow } from './explain.ts';

const PASSWORD = 'not-to-be-shown';
/** Long enough for any answer, however busy the machine is. */
const PLENTY_MS = 60_000;
let postgres: TestPostgres;
const servers: Server[] = [];
const sockets: Socket[] = [];

beforeAll(async () => {
  postgres = await testPostgres();
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => postgres.drop());

const changed = (change: (url: URL) => void): string => {
  const url = new URL(postgres.url);
  change(url);
  return url.toString();
};

/** A protocol message that ends a connection, as a pooler sends it. */
const refusal = (code: string, message: string): Buffer[] => [
  messageOf('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)),
];
/** Asks for a password by SCRAM, and continues when the client has named the method. */
const SCRAM = [
  messageOf('R', Buffer.from([0, 0, 0, 10, ...Buffer.from('SCRAM-SHA-256\0\0')])),
  messageOf('R', Buffer.from([0, 0, 0, 11, ...Buffer.from('r=nonce,s=c2FsdA==,i=4096')])),
];

function messageOf(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 0);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** The URL of a server that sends every connection these answers, one for each message it gets. */
async function answering(answers: readonly Buffer[], password = PASSWORD): Promise<string> {
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    const left = [...answers];
    socket.on('data', () => socket.write(left.shift() ?? ''));
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return `postgresql://someone:${password}@127.0.0.1:${port}/some`;
}

/** How each kind of query fails with a Postgres at this address. */
async function failuresAt(url: string, connectTimeoutMs = PLENTY_MS): Promise<unknown[]> {
  const db = createDb(url, { maxConnections: 1, connectTimeoutMs });
  const failures: unknown[] = [];
  const failing = (asked: Promise<unknown>) =>
    asked.then(
      () => {},
      (error) => void failures.push(error),
    );
  await failing(db.$queryRaw`SELECT 1`);
  await failing(db.plan.findMany());
  await failing(db.$transaction((tx) => tx.plan.findMany()));
  await closeDb(db);
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  client.on('error', () => {});
  await failing(client.connect());
  await client.end().catch(() => {});
  expect(failures).toHaveLength(4);
  return failures;
}

function expectTold(failure: unknown, expected: RegExp): void {
  const sentence = explainPostgres(failure);
  expect(sentence).toMatch(expected);
  expect(sentence).not.toMatch(/prisma|invocation/i);
  expect(sentence).not.toContain(PASSWORD);
  expect(explainPostgres(new Error('could not read', { cause: failure }))).toBe(sentence);
}

describe('why Postgres cannot be used is explained in a sentence that names the cause', () => {
  const wrongPassword = () =>
    changed((url) => {
      url.password = PASSWORD;
    });
  it.each<[string, () => string | Promise<string>, RegExp]>([
    [
      'a wrong password',
      wrongPassword,
      /refuses the user or the password in DATABASE_URL: .* user "tidegate"\.$/,
    ],
    ['no password', () => answering(SCRAM, ''), /asks for a password, and DATABASE_URL has none\.$/],
    [
      'a database that does not exist',
      () =>
        changed((url) => {
          url.pathname = '/nowhere';
        }),
      /does not have the database in DATABASE_URL: database "nowhere" does not exist\.$/,
    ],
    [
      'TLS that it does not have',
      () =>
        changed((url) => {
          url.searchParams.set('sslmode', 'verify-full');
        }),
      /over TLS: The server does not support SSL connections\.$/,
    ],
    [
      'TLS that it insists on',
      () => answering(refusal('28000', 'no pg_hba.conf entry for host "192.0.2.1", no encryption')),
      /refuses the connection: no pg_hba\.conf entry .* Add sslmode=verify-full to DATABASE_URL\.$/,
    ],
    [
      'a pooler that does not accept a parameter',
      () => answering(refusal('08P01', 'unsupported startup parameter: statement_timeout')),
      /a pooler in front of it, refuses the connection: unsupported startup parameter: statement_timeout\. Add it to the pooler's ignore_startup_parameters\.$/,
    ],
    [
      'too many connections',
      () => answering(refusal('53300', 'sorry, too many clients already')),
      /takes no more connections: sorry, too many clients already\. Try again soon/,
    ],
    [
      'a start that is still under way',
      () => answering(refusal('57P03', 'the database system is starting up')),
      /is not ready: the database system is starting up\.$/,
    ],
  ])('%s', async (_what, url, expected) => {
    for (const failure of await failuresAt(await url())) expectTold(failure, expected);
  });

  it('no answer', async () => {
    // The server never answers, so any time-out is long enough. But Prisma has one of its own, a
    // second later, which comes first if this process stands still for so long.
    await eventually(async () => {
      for (const failure of await failuresAt(await answering([]), 300))
        expectTold(failure, /did not answer in time\.$/);
      return true;
    });
  });

  it('nothing at the address', async () => {
    const [raw, model, transaction] = await failuresAt(`postgresql://someone:${PASSWORD}@127.0.0.1:1/some`);
    for (const failure of [raw, model, transaction])
      expect(explainPostgres(failure)).toBe('Postgres does not answer at 127.0.0.1:1.');
  });

  it('a name without an address', async () => {
    const url = `postgresql://someone:${PASSWORD}@nowhere.invalid/some`;
    const [raw, model, transaction] = await failuresAt(url);
    for (const failure of [raw, model, transaction])
      expect(explainPostgres(failure)).toBe('The Postgres host nowhere.invalid has no address.');
  });

  it('all connections in use', async () => {
    const db = createDb(postgres.url, {
      maxConnections: 1,
      connectTimeoutMs: 300,
      transactionTimeoutMs: PLENTY_MS,
    });
    // On a busy machine it may take more than one attempt to connect in that time. The connection
    // stays in the pool.
    const waiting = await eventually(() =>
      db.$transaction(() => db.$queryRaw`SELECT 1`.catch((error: unknown) => error)),
    );
    expect(explainPostgres(waiting)).toBe('No connection to Postgres became free in time.');
    await closeDb(db);
  });

  it('a statement that takes too long, without its values', async () => {
    const db = createDb(postgres.url, { ...PATIENT_DB, maxConnections: 1 });
    const slow = db.$transaction(async (tx) => {
      await tx.$executeRaw`SET LOCAL statement_timeout = 200`;
      await tx.$queryRaw`SELECT ${'a value'} FROM pg_sleep(30)`;
    });
    const error = await slow.catch((one: unknown) => one);
    expect(explainPostgres(error)).toBe(
      'Postgres took too long: canceling statement due to statement timeout.',
    );
    await closeDb(db);
  });
});

it.each(['EAI_AGAIN', 'ENETUNREACH', 'ECONNREFUSED'])(
  'a Postgres that cannot be reached is named, even where the driver says only %s',
  (code) => {
    const error = Object.assign(new Error(''), { name: 'PrismaClientKnownRequestError', code });
    expect(explainPostgres(error)).toBe(`Postgres cannot be reached (${code}).`);
    // Other network errors cannot be explained.
    expect(explainPostgres(Object.assign(new Error(''), { code }))).toBeNull();
  },
);

it('an error about something else is not explained', async () => {
  const db = createDb(postgres.url, { ...PATIENT_DB, maxConnections: 1 });
  const broken = await db.$queryRaw`SELECT 1 / 0`.catch((error: unknown) => error);
  for (const error of [broken, new Error('boom'), 'boom', undefined])
    expect(explainPostgres(error)).toBeNull();
  await closeDb(db);
});

it('only a temporary refusal of connections is worth another attempt', async () => {
  const nowhere = await failuresAt(
    changed((url) => {
      url.pathname = '/nowhere';
    }),
  );
  expect(nowhere.some(isRefusedForNow)).toBe(false);
  const full = await failuresAt(await answering(refusal('53300', 'sorry, too many clients already')));
  expect(full.every(isRefusedForNow)).toBe(true);
});
