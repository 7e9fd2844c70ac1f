import { resolve } from 'node:path';
import { type Command, diesWithParent } from '@tidegate/processes';
import pg from 'pg';
import { EmbeddedError, systemCause } from '../errors.ts';
import { assertPortFree, ServerProcess, untilReady } from '../process.ts';
import { type Account, checkOwner, findAccount, runAs } from './account.ts';
import { findPostgresBinaries, type PostgresBinaries } from './binaries.ts';
import { initializeCluster } from './initialize.ts';
import { clearStaleLock, recordOwner } from './lock.ts';

const READY_TIMEOUT_MS = 30_000;
/** Enough for the pools of all services of the local stack, and for psql. */
const SETTINGS: Readonly<Record<string, string>> = { max_connections: '200' };

export interface PostgresOptions {
  /** Created if missing. An existing database is kept. */
  readonly dataDir: string;
  /** A port of 127.0.0.1. */
  readonly port: number;
  /** The superuser to connect as. The first start fixes it. Default: `tidegate`. */
  readonly user?: string;
  /** Called with each line of the server's log. */
  readonly onLog?: (line: string) => void;
  /** The server's programs. Default: those of this package. */
  readonly binaries?: PostgresBinaries;
  /** Server settings, such as `{ fsync: 'off' }` when nothing needs to survive. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface RunningPostgres {
  /** A `postgresql://` URL of the database `postgres`, with the password. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves when the server has ended, whoever ended it. */
  readonly exited: Promise<void>;
  /** Ends sessions, writes a checkpoint, and resolves when the server is gone. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts a Postgres on 127.0.0.1. If this process is root, it runs as `postgres` or `nobody`.
 * @throws EmbeddedError when the port is taken, the directory is in use or not writable, or the
 * server does not start
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  try {
    return await open(options);
  } catch (error) {
    const cause = systemCause(error);
    if (cause === undefined) throw error;
    throw new EmbeddedError(`Postgres could not be set up: ${cause}`, { cause: error });
  }
}

async function open(options: PostgresOptions): Promise<RunningPostgres> {
  const dataDir = resolve(options.dataDir);
  const user = options.user ?? 'tidegate';
  const binaries = options.binaries ?? (await findPostgresBinaries());
  const account = await findAccount(dataDir);
  await checkOwner(account, dataDir);
  const fast = options.settings?.fsync === 'off';
  const password = await initializeCluster({ binaries, account, dataDir, user, fast }, options.onLog);
  await clearStaleLock(dataDir);
  await assertPortFree('Postgres', options.port);
  await recordOwner(dataDir);

  const settings = { ...SETTINGS, ...options.settings };
  const command = await serverCommand(binaries, account, dataDir, options.port, settings);
  const server = new ServerProcess(command, options.onLog);
  // This server has no TLS. Without `sslmode=disable`, a PGSSLMODE in the environment, meant for
  // another server, would apply.
  const url = `postgresql://${encodeURIComponent(user)}:${password}@127.0.0.1:${options.port}/postgres?sslmode=disable`;
  await untilReady('Postgres', server, () => answers(url), READY_TIMEOUT_MS);
  return {
    url,
    port: options.port,
    pid: server.pid,
    exited: server.exited,
    stop: () => server.stop('SIGINT'),
  };
}

async function serverCommand(
  binaries: PostgresBinaries,
  account: Account | undefined,
  dataDir: string,
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<Command> {
  const fixed = { listen_addresses: '127.0.0.1', unix_socket_directories: '', logging_collector: 'off' };
  const flags = Object.entries({ ...settings, ...fixed }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const plain: Command = {
    command: binaries.postgres,
    args: ['-D', dataDir, '-p', String(port), ...flags],
    options: {},
  };
  return runAs(account, [dataDir, binaries.postgres], await diesWithParent(plain));
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => {});
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  );
}
