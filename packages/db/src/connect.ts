import pg from 'pg';

/** Postgres did not let a client in; the message says why and shows no password. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
}

/** A connection that the caller ends. @throws ConnectError after `timeoutMs` at the latest */
export async function connect(url: string, timeoutMs: number): Promise<pg.Client> {
  try {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'tidegate-migrate',
      connectionTimeoutMillis: timeoutMs,
      keepAlive: true,
    });
    // A connection that breaks is told by the query that it breaks, too.
    client.on('error', () => {});
    await client.connect();
    return client;
  } catch (cause) {
    const { message, code } = cause as NodeJS.ErrnoException;
    throw new ConnectError(message || code || 'no reason given', { cause });
  }
}

/** Whether Postgres lets a client in. @throws ConnectError after `timeoutMs` at the latest */
export async function checkPostgres(url: string, timeoutMs: number): Promise<void> {
  await (await connect(url, timeoutMs)).end();
}
