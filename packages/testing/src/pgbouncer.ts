import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, freePort } from '@tidegate/embedded';
import { diesWithParent } from '@tidegate/processes';
import { eventually } from './eventually.ts';

/** Finds the system's PgBouncer. Installs it if need be. */
export const findPgbouncer = (): Promise<string> =>
  findProgram({ title: 'PgBouncer', names: ['pgbouncer'], packages: ['pgbouncer'] });

export interface TestPgbouncer {
  /** Reaches the same database through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a PgBouncer in front of a database. `settings` go into its section `[pgbouncer]`. */
export async function testPgbouncer(
  databaseUrl: string,
  settings: Readonly<Record<string, string | number>>,
): Promise<TestPgbouncer> {
  const program = await findPgbouncer();
  const server = new URL(databaseUrl);
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(await freePort());
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-pgbouncer-'));
  const file = join(directory, 'pgbouncer.ini');
  const where = `host=${server.hostname} port=${server.port} user=${decodeURIComponent(server.username)}`;
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: url.port,
    unix_socket_dir: '',
    auth_type: 'any',
    ...settings,
  };
  await writeFile(
    file,
    `[databases]\n* = ${where} password=${decodeURIComponent(server.password)}\n[pgbouncer]\n` +
      Object.entries(lines)
        .map(([name, value]) => `${name} = ${value}\n`)
        .join(''),
    { mode: 0o600 },
  );
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const { command, args } = await diesWithParent({
    command: program,
    args: ['-q', ...user, file],
    options: {},
  });
  const child = spawn(command, [...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGKILL');
    await exited;
    await rm(directory, { recursive: true, force: true });
  };
  await eventually(() => answers(Number(url.port))).catch(async (error) => {
    await stop();
    throw error;
  });
  return { url: url.href, stop };
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
