import { findOnPath } from '@tidegate/processes';
import { aptEnvironment, runWithLists, withoutServices } from '../apt.ts';
import { EmbeddedError } from '../errors.ts';

/** A program that a system package installs. */
export interface Program {
  /** Its name in messages. */
  readonly title: string;
  /** Its commands, the preferred one first. */
  readonly names: readonly string[];
  /** The packages that install one of its commands, the preferred one first. */
  readonly packages: readonly string[];
}

export interface FindProgramOptions {
  readonly onLog?: (line: string) => void;
}

/** How long to wait for another apt to finish. */
const LOCK_TIMEOUT_S = 120;

const CHROMIUM: Program = {
  title: 'Chromium',
  // The shell draws no window: it loads a page with a third of the processor time. Debian has it,
  // Ubuntu does not.
  names: ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
  packages: ['chromium-headless-shell', 'chromium'],
};

/**
 * Finds a program on PATH. If it is missing, and this is root on a system with apt, installs the
 * first of its packages that can be installed, without starting any service.
 * @throws EmbeddedError that says in one line how to install it
 */
export async function findProgram(program: Program, { onLog }: FindProgramOptions = {}): Promise<string> {
  const found = await findOnPath(...program.names);
  if (found !== undefined) return found;
  const apt = await findOnPath('apt-get');
  if (apt !== undefined && process.getuid?.() === 0) {
    await installFirst(apt, program.packages, onLog);
    const installed = await findOnPath(...program.names);
    if (installed !== undefined) return installed;
  }
  const packages = program.packages.join(' or ');
  throw new EmbeddedError(`no ${program.title} found: install the system package ${packages}`);
}

/** Finds Chromium or Chrome, and installs Chromium if need be. */
export const findChromium = (options?: FindProgramOptions): Promise<string> => findProgram(CHROMIUM, options);

/** @throws what the last of the packages failed with */
async function installFirst(
  apt: string,
  [name, ...others]: readonly string[],
  onLog: FindProgramOptions['onLog'],
): Promise<void> {
  if (name === undefined) return;
  if (others.length === 0) return install(apt, name, onLog);
  await install(apt, name, onLog).catch(() => installFirst(apt, others, onLog));
}

async function install(apt: string, name: string, onLog: FindProgramOptions['onLog']): Promise<void> {
  const patient = ['-o', `DPkg::Lock::Timeout=${LOCK_TIMEOUT_S}`];
  const command = {
    command: apt,
    args: ['install', ...patient, '-y', '-qq', '--no-install-recommends', name],
    options: { env: { ...aptEnvironment(), DEBIAN_FRONTEND: 'noninteractive' } },
  };
  const step = `${name} could not be installed with apt`;
  await withoutServices(() => runWithLists(step, command, onLog));
}
