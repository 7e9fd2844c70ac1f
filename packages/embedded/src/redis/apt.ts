import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { aptEnvironment, runWithLists, withoutServices } from '../apt.ts';
import { EmbeddedError } from '../errors.ts';
import { makeDirectory, runStep } from '../process.ts';

const execute = promisify(execFile);

type OnLog = ((line: string) => void) | undefined;

const PACKAGE = 'redis-server';
const SERVICE = 'redis-server.service';
const STEP = 'Redis could not be fetched with apt';

/** Installs redis-server on the system, without starting or enabling its service. Needs root. */
export async function installWithApt(apt: string, onLog: OnLog): Promise<void> {
  await withoutServices(async () => {
    const environment = { ...aptEnvironment(), DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    const install = ['install', '-y', '-qq', '--no-install-recommends', PACKAGE];
    await runWithLists(STEP, { command: apt, args: install, options: { env: environment } }, onLog);
  });
  // The package enables its service for the next boot. Nobody asked for that.
  const disable = (command: string) =>
    runStep(STEP, { command, args: ['disable', SERVICE], options: {} }, onLog);
  await disable('systemctl').catch(() => disable('deb-systemd-helper').catch(() => undefined));
}

/**
 * Downloads redis-server and its missing libraries, and unpacks them into `localDir`. Needs no
 * special rights.
 */
export async function unpackWithApt(apt: string, localDir: string, onLog: OnLog): Promise<void> {
  await makeDirectory(dirname(localDir));
  const work = await mkdtemp(join(tmpdir(), 'tidegate-redis-'));
  const tree = `${localDir}.unpacking`;
  try {
    const packages = await findMissing();
    const options = { cwd: work, env: aptEnvironment() };
    await runStep(STEP, { command: apt, args: ['download', '-qq', ...packages], options }, onLog);
    await rm(tree, { recursive: true, force: true });
    await makeDirectory(tree);
    for (const file of (await readdir(work)).filter((name) => name.endsWith('.deb')))
      await runStep(STEP, { command: 'dpkg', args: ['-x', join(work, file), tree], options }, onLog);
    await rm(localDir, { recursive: true, force: true });
    await rename(tree, localDir);
  } finally {
    await rm(work, { recursive: true, force: true });
    await rm(tree, { recursive: true, force: true });
  }
}

/** Lists the server's packages, and all libraries they depend on that the system lacks. */
async function findMissing(): Promise<string[]> {
  const wanted = new Set(['redis-server', 'redis-tools']);
  for (const name of wanted) {
    for (const library of await librariesOf(name)) if (!(await isInstalled(library))) wanted.add(library);
  }
  return [...wanted];
}

async function librariesOf(name: string): Promise<string[]> {
  const depends = execute('apt-cache', ['depends', '--important', name], { env: aptEnvironment() });
  const { stdout } = await depends.catch((cause: Error) => {
    throw new EmbeddedError(`apt does not know ${name}: run "sudo apt-get update", or set REDIS_URL`, {
      cause,
    });
  });
  return [...stdout.matchAll(/^ {2}(?:Pre)?Depends: (lib\S+)$/gm)].map((match) => match[1] as string);
}

async function isInstalled(name: string): Promise<boolean> {
  return execute('dpkg', ['-s', name], { env: aptEnvironment() }).then(
    ({ stdout }) => /^Status: install ok installed$/m.test(stdout),
    () => false,
  );
}
