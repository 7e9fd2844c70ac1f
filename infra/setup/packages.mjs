// @ts-check
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { storageCause, systemFailure } from './causes.mjs';
import { run, tail } from './run.mjs';
import { Failure } from './terminal.mjs';

/** @typedef {import('./terminal.mjs').Terminal} Terminal */
/**
 * @typedef {object} Entry a package in a lock file
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {string} [resolved]
 * @property {boolean} [link]
 * @property {boolean} [optional]
 * @property {string[]} [os]
 * @property {string[]} [cpu]
 * @property {string[]} [libc]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 * @property {Record<string, string>} [optionalDependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, { optional?: boolean }>} [peerDependenciesMeta]
 */
/** @typedef {Record<string, Entry>} Packages by their paths */
/** @typedef {'product' | 'everything'} Scope what is needed: to run Tidegate, or to check it too */

/**
 * Where the product's workspaces are. Only checking it needs the root's own packages (lint, test
 * runner) and those of `tests` (clients, a browser).
 */
const PRODUCT = ['apps', 'packages', 'infra'];
const PROGRESS_MS = 500;
const OUTPUT_LINES = 40;
const NOT_INSTALLED = 'The packages could not be installed';
/** What npm and Node call a registry that cannot be reached. */
const NETWORK =
  /\b(ENOTFOUND|EAI_AGAIN|ECONN[A-Z]+|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EIDLETIMEOUT|ERR_SOCKET_TIMEOUT|FETCH_ERROR|connect E[A-Z]+)\b/;

/**
 * Whether node_modules holds what package-lock.json asks for. npm lists what it installed in a
 * second lock file, which it writes last. So this also notices an interrupted installation.
 *
 * @param {string} root
 * @param {Scope} scope
 */
export function isInstalled(root, scope) {
  const wanted = packagesOf(join(root, 'package-lock.json'));
  const present = packagesOf(join(root, 'node_modules/.package-lock.json'));
  if (!wanted || !present) return false;
  return [...needed(wanted, scope)].every((path) => {
    const { version, integrity, optional } = wanted[path] ?? {};
    const found = present[path];
    return found ? found.version === version && found.integrity === integrity : optional === true;
  });
}

/** @param {string} lockFile @returns {Packages | null} */
function packagesOf(lockFile) {
  try {
    return JSON.parse(readFileSync(lockFile, 'utf8')).packages ?? null;
  } catch {
    return null;
  }
}

/**
 * The packages of a lock that a scope takes: what its workspaces depend on, and so on.
 *
 * @param {Packages} packages
 * @param {Scope} scope
 * @returns {Set<string>} paths below node_modules
 */
export function needed(packages, scope) {
  const paths = Object.keys(packages).filter((path) => path !== '');
  if (scope === 'everything') return new Set(paths.filter(isLibrary));
  const found = new Set(
    paths.filter((path) => !isLibrary(path) && PRODUCT.some((folder) => path.startsWith(`${folder}/`))),
  );
  for (const path of found) {
    const { link, resolved, ...entry } = packages[path] ?? {};
    if (link && resolved) found.add(resolved);
    const peers = Object.keys(entry.peerDependencies ?? {});
    const names = [
      ...Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }),
      ...peers.filter((name) => !entry.peerDependenciesMeta?.[name]?.optional),
      ...(isLibrary(path) ? [] : Object.keys(entry.devDependencies ?? {})),
    ];
    for (const name of names) {
      const at = resolvePackage(packages, path, name);
      if (at) found.add(at);
    }
  }
  return new Set([...found].filter(isLibrary));
}

const isLibrary = (/** @type {string} */ path) => path.includes('node_modules/');

/**
 * Where Node finds a package from another one: beside it or further up.
 *
 * @param {Packages} packages
 * @param {string} from
 * @param {string} name
 * @returns {string | undefined} its path
 */
export function resolvePackage(packages, from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (packages[path]) return path;
    if (at === '') return undefined;
  }
}

/**
 * Installs what is missing. What is there and right stays, even if only the other scope needs it.
 *
 * @param {string} root
 * @param {Scope} scope
 * @param {Terminal} terminal
 */
export async function install(root, scope, terminal) {
  await terminal.phase(
    'packages',
    async (note, progress) => {
      // npm tells its children where it is. Without that (node infra/start.mjs), PATH says so.
      const npm = process.env.npm_execpath;
      const [command, first] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
      const verb = existsSync(join(root, 'node_modules/.package-lock.json'))
        ? ['install', '--no-save']
        : ['ci'];
      const workspaces = scope === 'product' ? PRODUCT.map((folder) => `--workspace=${folder}`) : [];
      const options = ['--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
      const stop = watch(root, scope, progress);
      const { code, output } = await run(command, [...first, ...verb, ...workspaces, ...options], {
        cwd: root,
      })
        .catch((error) => {
          throw notRun(command, error);
        })
        .finally(stop);
      if (code !== 0) throw notInstalled(verb[0] ?? '', output);
      note('installed');
    },
    { slow: 'a minute the first time' },
  );
}

/** @param {string} command @param {NodeJS.ErrnoException} error why it could not be run */
function notRun(command, error) {
  if (error.code !== 'ENOENT' || command !== 'npm') return systemFailure(NOT_INSTALLED, error);
  return new Failure(`${NOT_INSTALLED}: npm is not on PATH.`, {
    hint: 'npm comes with Node (https://nodejs.org). Add its folder to PATH, then run the command again.',
  });
}

/** @param {string} verb @param {string} output of npm */
function notInstalled(verb, output) {
  const shown = { output: tail(output, OUTPUT_LINES) };
  if (NETWORK.test(output)) {
    const hint = 'Check the connection to the npm registry (npm ping), then run the command again.';
    return new Failure(`${NOT_INSTALLED}: no connection to the npm registry.`, { ...shown, hint });
  }
  const cause = storageCause(output);
  if (cause) return new Failure(`${NOT_INSTALLED}: ${cause.words}.`, { ...shown, hint: cause.hint });
  return new Failure(`${NOT_INSTALLED} (npm ${verb}).`, shown);
}

/**
 * Reports at intervals how many of the packages are there, because npm says nothing while it works.
 *
 * @param {string} root @param {Scope} scope @param {(text: string) => void} progress
 * @returns {() => void} ends it
 */
function watch(root, scope, progress) {
  const packages = packagesOf(join(root, 'package-lock.json')) ?? {};
  const isForHere = platformFilter();
  const files = [...needed(packages, scope)]
    .filter((path) => isForHere(packages[path] ?? {}))
    .map((path) => join(root, path, 'package.json'));
  const timer = setInterval(() => {
    progress(`${files.filter((file) => existsSync(file)).length} of ${files.length}`);
  }, PROGRESS_MS);
  return () => clearInterval(timer);
}

/**
 * The report takes long, so it is made once.
 *
 * @returns {(entry: Entry) => boolean} whether a package is for this platform
 */
function platformFilter() {
  const report = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  const ours = report.header.glibcVersionRuntime ? 'glibc' : 'musl';
  return ({ os, cpu, libc }) =>
    (os?.includes(process.platform) ?? true) &&
    (cpu?.includes(process.arch) ?? true) &&
    (libc?.includes(ours) ?? true);
}
