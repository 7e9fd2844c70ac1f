import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findOnPath, isExecutable } from '@tidegate/processes';
import { aptEnvironment, runWithLists } from '../apt.ts';
import { EmbeddedError } from '../errors.ts';
import { makeDirectory, runStep } from '../process.ts';

export interface UnpackedProgram {
  /** Its command, which must need nothing else of the package or of other packages. */
  readonly name: string;
  readonly package: string;
}

/**
 * Finds a program on PATH or unpacked in `localDir`. If it is in neither, downloads its package
 * with apt and unpacks it there: nothing is installed, so the package's service is not started.
 * @throws EmbeddedError that says in one line how to install it
 */
export async function findOrUnpack(program: UnpackedProgram, localDir: string): Promise<string> {
  const unpacked = join(localDir, 'usr/bin', program.name);
  const found = await findOnPath(program.name);
  if (found !== undefined) return found;
  const [apt, dpkg] = [await findOnPath('apt-get'), await findOnPath('dpkg')];
  if (!(await isExecutable(unpacked)) && apt && dpkg) await unpack({ apt, dpkg }, program.package, localDir);
  if (await isExecutable(unpacked)) return unpacked;
  throw new EmbeddedError(`no ${program.name} found: install the system package ${program.package}`);
}

interface Tools {
  readonly apt: string;
  readonly dpkg: string;
}

async function unpack({ apt, dpkg }: Tools, name: string, localDir: string): Promise<void> {
  const step = `${name} could not be fetched with apt`;
  await makeDirectory(dirname(localDir));
  const work = await mkdtemp(`${localDir}.unpacking-`);
  try {
    const options = { cwd: work, env: aptEnvironment() };
    await runWithLists(step, { command: apt, args: ['download', '-qq', name], options });
    const [file = name] = (await readdir(work)).filter((entry) => entry.endsWith('.deb'));
    await runStep(step, { command: dpkg, args: ['-x', join(work, file), join(work, 'tree')], options });
    await rm(localDir, { recursive: true, force: true });
    await rename(join(work, 'tree'), localDir);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
