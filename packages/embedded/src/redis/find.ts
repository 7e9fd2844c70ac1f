import { execFile } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Command, findOnPath, isExecutable } from '@tidegate/processes';
import { EmbeddedError } from '../errors.ts';
import { installWithApt, unpackWithApt } from './apt.ts';

/** A redis-server or valkey-server that can be started. */
export interface RedisServer {
  readonly command: string;
  /** Where a server that was unpacked finds its libraries. */
  readonly libraryPath?: string;
}

export interface FindRedisOptions {
  /** The directory to unpack a server into. It may have been used before. */
  readonly localDir: string;
  readonly onLog?: (line: string) => void;
}

const NAMES = ['redis-server', 'valkey-server'];
/** Older ones do not understand infra/redis.acl. The first Valkey is version 7. */
const OLDEST = 7;
/** The code with which the system's loader ends. */
const LACKS_LIBRARY = 127;

/**
 * Finds a Redis server: on PATH, or unpacked earlier under `localDir`. If there is none, gets one
 * from apt on Debian and Ubuntu: if this is root, it is installed without starting the system's
 * service; otherwise it is unpacked under `localDir`.
 * @throws EmbeddedError that says in one line how to install one, or a newer one
 */
export async function findRedis(options: FindRedisOptions): Promise<RedisServer> {
  const localDir = resolve(options.localDir);
  const found = (await findInstalled()) ?? (await findUsable(localDir));
  if (found !== undefined) return checked(found);
  const apt = await findOnPath('apt-get');
  if (apt !== undefined && (await isDebian())) {
    if (process.getuid?.() === 0) await installWithApt(apt, options.onLog);
    else await unpackWithApt(apt, localDir, options.onLog);
    const fetched = (await findInstalled()) ?? (await findUsable(localDir));
    if (fetched !== undefined) return checked(fetched);
  }
  throw new EmbeddedError(`no Redis found: ${instruction()}`);
}

/** The command that runs a server that was found. */
export function programOf({ command, libraryPath }: RedisServer, args: readonly string[]): Command {
  const env = libraryPath === undefined ? process.env : { ...process.env, LD_LIBRARY_PATH: libraryPath };
  return { command, args, options: { env } };
}

async function checked(server: RedisServer): Promise<RedisServer> {
  // A server on PATH that cannot print its version reports what is wrong when it starts.
  const { said = '' } = await versionOf(server);
  const [, version, major] = /\bv=((\d+)\S*)/.exec(said) ?? [];
  if (version === undefined || Number(major) >= OLDEST) return server;
  throw new EmbeddedError(
    `${server.command} is version ${version}, and Tidegate starts only ${OLDEST} or newer: put a newer redis-server or valkey-server first on PATH, or set REDIS_URL`,
  );
}

/** What the server prints about its version, or with which code it ends because it cannot run. */
async function versionOf(server: RedisServer): Promise<{ readonly said?: string; readonly code?: unknown }> {
  const { command, args, options } = programOf(server, ['--version']);
  return promisify(execFile)(command, args, { env: options.env }).then(
    ({ stdout }) => ({ said: stdout }),
    ({ code }: { readonly code?: unknown }) => ({ code }),
  );
}

async function findInstalled(): Promise<RedisServer | undefined> {
  const command = await findOnPath(...NAMES);
  return command === undefined ? undefined : { command };
}

/**
 * Finds a server that was unpacked. Deletes one that lacks a library, as after an upgrade of the
 * system, so that it is fetched again.
 */
async function findUsable(localDir: string): Promise<RedisServer | undefined> {
  const server = await findUnpacked(localDir);
  if (server === undefined || (await versionOf(server)).code !== LACKS_LIBRARY) return server;
  await rm(localDir, { recursive: true, force: true });
  return undefined;
}

/**
 * Finds a server in the tree that `dpkg -x` makes: usr/bin, with libraries in usr/lib/<machine>.
 */
export async function findUnpacked(localDir: string): Promise<RedisServer | undefined> {
  for (const name of NAMES) {
    const command = join(localDir, 'usr', 'bin', name);
    if (!(await isExecutable(command))) continue;
    const lib = join(localDir, 'usr', 'lib');
    const machines = await readdir(lib, { withFileTypes: true }).catch(() => []);
    const libraries = machines.filter((entry) => entry.isDirectory()).map((entry) => join(lib, entry.name));
    return libraries.length === 0 ? { command } : { command, libraryPath: libraries.join(':') };
  }
  return undefined;
}

async function isDebian(): Promise<boolean> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(release);
}

function instruction(): string {
  if (process.platform === 'darwin') return 'run "brew install redis", or set REDIS_URL';
  if (process.platform === 'linux') return 'install the system package redis or valkey, or set REDIS_URL';
  return 'run one elsewhere and set REDIS_URL';
}
