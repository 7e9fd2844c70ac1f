import pg from 'pg';

/** Postgres refused a client or did not answer. The message says why and shows no password. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
}

/** Opens a connection. The caller ends it. @throws ConnectError after `timeoutMs` at the latest */
export async function connect(url: string, timeoutMs: number): Promise<pg.Client> {
  try {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'tidegate-migrate',
      connectionTimeoutMillis: timeoutMs,
      keepAlive: true,
    });
    // If the connection breaks, the query under way fails with the same error.
    client.on('error', () => {});
    await client.connect();
    return client;
  } catch (cause) {
    const { message, code } = cause as NodeJS.ErrnoException;
    throw new ConnectError(message || code || 'no reason given', { cause });
  }
}

/** Runs a statement. Rejects if Postgres does not answer within `timeoutMs`. */
export const queryWithin = <T extends pg.QueryResultRow>(
  client: pg.Client,
  timeoutMs: number,
  text: string,
  values: readonly unknown[] = [],
): Promise<pg.QueryResult<T>> =>
  client.query<T>({ text, values: [...values], query_timeout: timeoutMs } as pg.QueryConfig);

/** Checks that Postgres accepts a client. @throws ConnectError after `timeoutMs` at the latest */
export async function checkPostgres(url: string, timeoutMs: number): Promise<void> {
  await (await connect(url, timeoutMs)).end();
}
