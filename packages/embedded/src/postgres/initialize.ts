import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EmbeddedError } from '../errors.ts';
import { makeDirectory, runStep } from '../process.ts';
import { type Account, giveTo, runAs } from './account.ts';
import type { PostgresBinaries } from './binaries.ts';

/** In the data directory. Only its owner can read it. */
const PASSWORD_FILE = 'tidegate.password';

export interface Cluster {
  readonly binaries: PostgresBinaries;
  readonly account: Account | undefined;
  readonly dataDir: string;
  readonly user: string;
  /** Skip forcing the new files to disk. */
  readonly fast: boolean;
}

/**
 * Creates the database cluster unless it exists. It is created beside `dataDir` and then moved
 * there, so that an interrupted first start leaves nothing behind.
 *
 * @returns the password of `user`
 * @throws EmbeddedError when the directory contains something else
 */
export async function initializeCluster(cluster: Cluster, onLog?: (line: string) => void): Promise<string> {
  const { dataDir } = cluster;
  const known = await readPassword(dataDir);
  if (known !== undefined) return known.trim();
  const staging = `${dataDir}.new`;
  await rm(staging, { recursive: true, force: true });
  await makeDirectory(dirname(dataDir));
  await makeDirectory(staging);
  try {
    await giveTo(cluster.account, staging);
    const password = await make(cluster, staging, onLog);
    await rename(join(staging, 'data'), dataDir).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'ENOTEMPTY' && cause.code !== 'EEXIST') throw cause;
      throw new EmbeddedError(`Postgres cannot start: ${dataDir} is neither empty nor a Tidegate database`, {
        cause,
      });
    });
    return password;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function make(
  { binaries, account, user, fast }: Cluster,
  staging: string,
  onLog?: (line: string) => void,
): Promise<string> {
  const password = randomBytes(18).toString('base64url');
  const data = join(staging, 'data');
  const pwfile = join(staging, 'password');
  await makeDirectory(data);
  await giveTo(account, data);
  await writePassword(account, pwfile, password);
  const args = [`--pgdata=${data}`, `--username=${user}`, `--pwfile=${pwfile}`, '--auth=scram-sha-256'];
  args.push('--encoding=UTF8', '--no-locale', '--locale-provider=builtin', '--builtin-locale=C.UTF-8');
  args.push('--no-instructions', ...(fast ? ['--no-sync'] : []));
  const initdb = { command: binaries.initdb, args, options: {} };
  const command = await runAs(account, [data, pwfile, binaries.initdb], initdb);
  await runStep('Postgres could not be set up', command, onLog);
  await writePassword(account, join(data, PASSWORD_FILE), password);
  return password;
}

/** Undefined: there is no database yet. */
async function readPassword(dataDir: string): Promise<string | undefined> {
  return readFile(join(dataDir, PASSWORD_FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

async function writePassword(account: Account | undefined, file: string, password: string): Promise<void> {
  await writeFile(file, `${password}\n`, { mode: 0o600 });
  await giveTo(account, file);
}
