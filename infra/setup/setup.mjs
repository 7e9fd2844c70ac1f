// @ts-check
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { storageCause, systemFailure } from './causes.mjs';
import { withCheckoutLock } from './checkout-lock.mjs';
import { assertNoLauncher } from './launchers.mjs';
import { install, isInstalled } from './packages.mjs';
import { run, tail } from './run.mjs';
import { Failure } from './terminal.mjs';

/** @typedef {import('./packages.mjs').Scope} Scope */
/** @typedef {import('./terminal.mjs').Terminal} Terminal */

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

const BUILD_STAMP = join(root, 'node_modules/.cache/tidegate/build.json');
const OUTPUT_LINES = 40;
/** The sources of a build, relative to the root. A folder includes all files below it. */
const BUILD_INPUTS = [
  ...['tsconfig.base.json', 'tsconfig.workspace.json', 'tsconfig.build.json', 'turbo.json'],
  ...['package.json', 'package-lock.json', 'proto'],
];
const NOT_SOURCES = new Set(['node_modules', 'dist', 'generated', '.next', '.turbo', 'next-env.d.ts']);

/**
 * Checks the Node version. Must run before anything that an older Node cannot run. Node 20 gained
 * in 20.19 what some packages need, Node 22 in 22.12, and Node 21 never did.
 */
export function checkNode(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if ((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22) return;
  throw new Failure(`Tidegate needs Node 20 (20.19 or newer), or Node 22.12 or newer; this is ${version}.`, {
    hint: 'Install a current Node from https://nodejs.org (or with nvm, fnm, volta) and run the command again.',
  });
}

/** Builds what changed. @param {Terminal} terminal */
async function build(terminal) {
  const stamp = sourcesStamp();
  if (isBuilt(() => stamp)) return;
  await assertNoLauncher(root, sinceBuild());
  await terminal.phase(
    'build',
    async () => {
      rmSync(BUILD_STAMP, { force: true });
      const turbo = join(root, 'node_modules/turbo/bin/turbo');
      const { code, output } = await run(
        process.execPath,
        [turbo, 'run', 'build', '--output-logs=errors-only', '--log-order=grouped'],
        {
          cwd: root,
          env: { TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1', NEXT_TELEMETRY_DISABLED: '1' },
        },
      );
      if (code !== 0) {
        const cause = storageCause(output);
        throw new Failure(cause ? `The build failed: ${cause.words}.` : 'The build failed.', {
          output: tail(output, OUTPUT_LINES),
          hint: cause?.hint ?? 'npm run build shows the whole output.',
        });
      }
      mkdirSync(dirname(BUILD_STAMP), { recursive: true });
      writeFileSync(
        BUILD_STAMP,
        JSON.stringify({ stamp, node: process.versions.node, outputs: outputsOfBuild() }),
      );
    },
    { slow: 'about half a minute the first time' },
  );
}

/** Why the sources count as not built, if that is only because of Node. */
function sinceBuild() {
  const { node } = process.versions;
  try {
    const built = JSON.parse(readFileSync(BUILD_STAMP, 'utf8'));
    if (built.node !== node && built.stamp === sourcesStamp(built.node))
      return `it was built with Node ${built.node}, while this is Node ${node}`;
  } catch {
    // There was no build.
  }
  return undefined;
}

/** @param {() => string} stampOf returns the stamp of the sources as they are */
function isBuilt(stampOf) {
  try {
    const built = JSON.parse(readFileSync(BUILD_STAMP, 'utf8'));
    return (
      built.stamp === stampOf() &&
      built.outputs.every((/** @type {string} */ path) => existsSync(join(root, path)))
    );
  } catch {
    return false;
  }
}

/** The workspaces' folders: apps/*, packages/*, infra/local. */
function workspaces() {
  const groups = ['apps', 'packages'].flatMap((group) =>
    readdirSync(join(root, group)).map((name) => join(group, name)),
  );
  return [...groups, 'infra/local'].filter((path) => existsSync(join(root, path, 'package.json')));
}

/** The output folders that exist, relative to the root. */
const outputsOfBuild = () =>
  workspaces()
    .flatMap((path) => [join(path, 'dist'), join(path, '.next'), join(path, 'src/generated')])
    .filter((path) => existsSync(join(root, path)));

/**
 * Changes whenever a source file is added, removed or written, and with the version of Node that
 * builds.
 */
function sourcesStamp(node = process.versions.node) {
  const hash = createHash('sha256').update(node);
  /** @param {string} path */
  const add = (path) => {
    const stat = statSync(join(root, path), { throwIfNoEntry: false });
    if (!stat) return;
    if (!stat.isDirectory()) {
      hash.update(`${path}\0${stat.size}\0${stat.mtimeMs}\n`);
      return;
    }
    for (const name of readdirSync(join(root, path)).sort()) {
      if (!NOT_SOURCES.has(name) && !name.endsWith('.test.ts')) add(join(path, name));
    }
  };
  for (const path of [...BUILD_INPUTS, ...workspaces()]) add(path);
  return hash.digest('hex');
}

/**
 * Makes the checkout ready to run: checks Node, installs packages, builds. Prints only steps that
 * take time.
 *
 * @param {Terminal} terminal
 * @param {Scope} [scope]
 */
export async function setUp(terminal, scope = 'product') {
  checkNode();
  if (isInstalled(root, scope) && isBuilt(() => sourcesStamp())) return;
  // Two builds at the same time leave one that lacks parts and yet counts as complete.
  await withCheckoutLock(root, terminal, async () => {
    if (!isInstalled(root, scope)) {
      await assertNoLauncher(root);
      await install(root, scope, terminal);
    }
    try {
      await build(terminal);
    } catch (error) {
      throw systemFailure('The build failed', error);
    }
  });
}
