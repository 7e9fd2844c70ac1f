// @ts-check
import { chmod, copyFile, cp, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../support/command.mjs';

const HERE = import.meta.dirname;
/** It has the major versions of Postgres and Redis that docker-compose.yml names. */
const SUITE = 'testing';
const MIRROR = 'http://deb.debian.org/debian';

/**
 * Gets the base images that a checkout uses: those that the engine has, or else the registry's, or
 * else ones of the same names built here.
 * @param {import('./engine.mjs').Engine} engine
 * @param {string} checkout
 * @param {string} directory for temporary files
 * @returns {Promise<string>} where they came from
 */
export async function getBases(engine, checkout, directory) {
  const dockerfile = await readFile(join(checkout, 'infra/docker/Dockerfile'), 'utf8');
  const compose = await readFile(join(checkout, 'docker-compose.yml'), 'utf8');
  const names = [...dockerfile.matchAll(/^FROM (\S+:\S+)/gm), ...compose.matchAll(/image: (\S+:\S+)/g)];
  const made = [];
  for (const name of new Set(names.map(([, image = '']) => image))) {
    const isThere = async (/** @type {string} */ verb) =>
      engine.docker(verb === 'pull' ? ['pull', '-q', name] : ['image', 'inspect', name]).then(
        () => true,
        () => false,
      );
    if ((await isThere('inspect')) || (await isThere('pull'))) continue;
    if (made.length === 0) await makeDebian(engine, directory);
    await makeBase(engine, name, directory);
    made.push(name);
  }
  return made.length > 0
    ? `made from packages: ${made.join(', ')}`
    : 'the official images, or what the engine had';
}

/** @param {import('./engine.mjs').Engine} engine @param {string} directory */
async function makeDebian(engine, directory) {
  if (await engine.docker(['image', 'inspect', 'tidegate-debian']).catch(() => '')) return;
  const root = join(directory, 'debian');
  const archive = join(directory, 'debian.tar');
  await run('debootstrap', ['--variant=minbase', SUITE, root, MIRROR]);
  await run('tar', ['--exclude=./var/cache/apt/archives/*.deb', '-C', root, '-cf', archive, '.']);
  await engine.docker(['import', archive, 'tidegate-debian']);
  await rm(root, { recursive: true, force: true });
  await rm(archive);
}

/** @param {import('./engine.mjs').Engine} engine @param {string} name @param {string} directory */
async function makeBase(engine, name, directory) {
  const [program = '', tag = ''] = name.split(':');
  if (program === 'debian') {
    await engine.docker(['tag', 'tidegate-debian', name]);
    return;
  }
  const context = join(directory, 'bases');
  await mkdir(context, { recursive: true });
  await copyFile(join(HERE, 'postgres.sh'), join(context, 'postgres.sh'));
  if (program === 'node') await unpackNode(Number.parseInt(tag, 10), context);
  const file = join(HERE, program === 'node' ? 'node.Dockerfile' : 'stores.Dockerfile');
  await engine.docker(['build', '--network', 'host', '-f', file, '--target', program, '-t', name, context]);
}

/** @param {number} major @param {string} context */
async function unpackNode(major, context) {
  const into = join(context, 'node');
  await mkdir(join(into, 'bin'), { recursive: true });
  await mkdir(join(into, 'lib/node_modules'), { recursive: true });
  for (const name of [`node-linux-${process.arch}@${major}`, 'npm@11']) {
    const [archive = ''] = JSON.parse(
      await run('npm', ['pack', '--json', '--pack-destination', context, name], { cwd: context }),
    ).map((/** @type {{ filename: string }} */ { filename }) => filename);
    await run('tar', ['-C', context, '-xzf', join(context, archive)]);
    const unpacked = join(context, 'package');
    if (name.startsWith('npm@')) await cp(unpacked, join(into, 'lib/node_modules/npm'), { recursive: true });
    else await copyFile(join(unpacked, 'bin/node'), join(into, 'bin/node'));
    await rm(unpacked, { recursive: true });
  }
  for (const name of await readdir(join(into, 'bin'))) await chmod(join(into, 'bin', name), 0o755);
}
