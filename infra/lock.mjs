// @ts-check
// Completes package-lock.json. Run it after npm install.
// - npm leaves out the optional packages of other platforms if its registry does not offer them.
//   Then it refuses its own lock file (npm ci: "Missing: … from lock file").
// - Without a package's address, npm first asks the registry for the list of its versions. That
//   doubles the time of npm ci. With another registry, npm replaces the public one in these
//   addresses.
// Every package needs a hash, too. Only npm can add that, from a registry that offers the package.
// So if yours does not offer a version for all platforms, take one that it does. `overrides` in
// package.json has those that other packages ask for.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolvePackage } from './setup/packages.mjs';

/**
 * @typedef {{ name?: string, version?: string, resolved?: string, integrity?: string,
 * link?: boolean, inBundle?: boolean, dev?: boolean, optional?: boolean, os?: string[],
 * cpu?: string[], libc?: string[], optionalDependencies?: Record<string, string> }} Entry
 */

const root = resolve(fileURLToPath(import.meta.url), '../..');
const OS = ['android', 'darwin', 'linux', 'win32', 'freebsd', 'openharmony'];
const CPU = ['arm64', 'x64', 'arm', 'ia32', 'ppc64', 's390x', 'riscv64', 'loong64', 'wasm32'];

/**
 * Entries for the optional packages that the lock names by exact version but does not contain.
 *
 * @param {Record<string, Entry>} packages of the lock
 * @returns {Record<string, Entry>}
 */
export function missingEntries(packages) {
  /** @type {Record<string, Entry>} */
  const missing = {};
  for (const [path, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (resolvePackage(packages, path, name) || !/^\d/.test(version)) continue;
      const dev = entry.dev ? { dev: true } : {};
      missing[`node_modules/${name}`] = { version, ...platformOf(name), ...dev, optional: true };
    }
  }
  return missing;
}

/**
 * Reads the platform from a package's name: …-linux-x64-musl, …-windows-64.
 * @param {string} name
 */
function platformOf(name) {
  const words = name.split(/[-/]/).map((word) => ({ windows: 'win32', 64: 'x64' })[word] ?? word);
  const os = words.find((word) => OS.includes(word));
  const cpu = words.find((word) => CPU.includes(word));
  if (!cpu) throw new Error(`cannot tell the platform of ${name}`);
  const libc = words.some((word) => word.startsWith('musl'))
    ? 'musl'
    : words.some((word) => word.startsWith('gnu')) && 'glibc';
  return { cpu: [cpu], ...(os ? { os: [os] } : {}), ...(libc ? { libc: [libc] } : {}) };
}

/**
 * The addresses of packages that have none in the lock.
 *
 * @param {Record<string, Entry>} packages of the lock
 * @returns {Record<string, string>} by path in the lock
 */
export function missingAddresses(packages) {
  return Object.fromEntries(
    Object.entries(packages)
      .filter(([path, entry]) => isFetched(path, entry) && !entry.resolved)
      .map(([path, { name = path.split('node_modules/').at(-1) ?? '', version }]) => [
        path,
        `https://registry.npmjs.org/${name}/-/${name.split('/').at(-1)}-${version}.tgz`,
      ]),
  );
}

/**
 * The packages whose contents the lock does not fix by a hash. npm would take whatever the registry
 * has under their address.
 *
 * @param {Record<string, Entry>} packages of the lock
 * @returns {string[]} paths in the lock
 */
export function missingHashes(packages) {
  return Object.entries(packages)
    .filter(([path, entry]) => isFetched(path, entry))
    .filter(([, { integrity = '' }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity))
    .map(([path]) => path);
}

/**
 * Whether npm fetches this entry by itself: it is neither a folder of the checkout nor in another
 * package, whose hash covers it.
 *
 * @param {string} path
 * @param {Entry} entry
 */
const isFetched = (path, { link, inBundle }) => path.includes('node_modules/') && !link && !inBundle;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = join(root, 'package-lock.json');
  const lock = JSON.parse(readFileSync(path, 'utf8'));
  const missing = missingEntries(lock.packages);
  const byName = Object.entries({ ...lock.packages, ...missing }).sort(([a], [b]) =>
    a.localeCompare(b, 'en'),
  );
  lock.packages = Object.fromEntries(byName);
  const addresses = missingAddresses(lock.packages);
  for (const [at, resolved] of Object.entries(addresses)) {
    const { name, version, ...rest } = lock.packages[at];
    lock.packages[at] = { ...(name ? { name } : {}), version, resolved, ...rest };
  }
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  process.stdout.write(
    `${Object.keys(missing).length} entries and ${Object.keys(addresses).length} addresses added\n`,
  );
  const hashless = missingHashes(lock.packages);
  if (hashless.length > 0) {
    process.stderr.write(`without a hash: ${hashless.join(', ')}\n`);
    process.exitCode = 1;
  }
}
