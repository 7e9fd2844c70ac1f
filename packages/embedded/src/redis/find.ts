import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EmbeddedError } from '../errors.ts';
import { findOnPath, isExecutable } from '../process.ts';
import { installWithApt, unpackWithApt } from './apt.ts';

/** A redis-server or valkey-server that can be started. */
export interface RedisServer {
  readonly command: string;
  /** Where an unpacked one finds its libraries. */
  readonly libraryPath?: string;
}

export interface FindRedisOptions {
  /** Where a server may have been, or may be, unpacked. */
  readonly localDir: string;
  readonly onLog?: (line: string) => void;
}

const NAMES = ['redis-server', 'valkey-server'];

/**
 * A server on PATH; one unpacked under `localDir` before; else, on Debian and Ubuntu, installed with apt (as root, without
 * starting the system's own service) or unpacked from apt's packages under `localDir`.
 * @throws EmbeddedError with one line on how to install one here
 */
export async function findRedis(options: FindRedisOptions): Promise<RedisServer> {
  const localDir = resolve(options.localDir);
  const found = (await findInstalled()) ?? (await findUnpacked(localDir));
  if (found !== undefined) return found;
  const apt = await findOnPath('apt-get');
  if (apt !== undefined && (await isDebian())) {
    if (process.getuid?.() === 0) await installWithApt(apt, options.onLog);
    else await unpackWithApt(apt, localDir, options.onLog);
    const fetched = (await findInstalled()) ?? (await findUnpacked(localDir));
    if (fetched !== undefined) return fetched;
  }
  throw new EmbeddedError(`no Redis found: ${instruction()}`);
}

async function findInstalled(): Promise<RedisServer | undefined> {
  const command = await findOnPath(...NAMES);
  return command === undefined ? undefined : { command };
}

/** A server in the tree that `dpkg -x` makes: usr/bin, and its libraries in usr/lib/<machine>. */
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
  if (process.platform === 'linux')
    return 'install the package redis or valkey of your system, or set REDIS_URL';
  return 'run one elsewhere and set REDIS_URL';
}
