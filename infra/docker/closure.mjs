import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

/** Compilers and image tools of Next, which only its build and its development server load. */
const BUILD_ONLY = /^(@next\/swc-|@img\/|sharp$)/;

const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

/** The names that a package may import, and whether it can do without each. */
function namesOf({ dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta = {} }) {
  const needed = Object.keys({ ...dependencies, ...peerDependencies })
    .filter((name) => !(optionalDependencies && name in optionalDependencies))
    .filter((name) => !peerDependenciesMeta[name]?.optional);
  return [
    ...needed.map((name) => ({ name, optional: false })),
    ...Object.keys(optionalDependencies ?? {}).map((name) => ({ name, optional: true })),
  ];
}

/** Looks a name up as Node does: in each `node_modules` from the folder upwards. */
function find(name, from, root) {
  for (let folder = from; folder.startsWith(root); folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (basename(folder) !== 'node_modules' && existsSync(join(found, 'package.json'))) return found;
  }
  return null;
}

/**
 * What a workspace needs at run time: itself, the workspaces and libraries that it depends on, and
 * what these depend on. npm cannot tell: for `npm ci --omit=dev` each workspace is one of the
 * root's dependencies, even those for tests.
 *
 * @param root the checkout; its packages must be installed
 * @param workspace the workspace's folder
 * @returns folders to copy, and links to workspaces among them
 */
export function closureOf(root, workspace) {
  const links = new Set();
  const folders = new Set([join(root, workspace)]);
  for (const folder of folders)
    for (const { name, optional } of namesOf(manifestOf(folder))) {
      const found = BUILD_ONLY.test(name) ? null : find(name, folder, root);
      if (found) folders.add(realpathSync(found));
      else if (!optional && !BUILD_ONLY.test(name))
        throw new Error(`${relative(root, folder)} needs ${name}, which is not installed.`);
      if (found && realpathSync(found) !== found) links.add(found);
    }
  return { folders: [...folders], links: [...links] };
}

/** Nothing reads these at run time: Prisma's compilers are for other databases, or for CommonJS. */
const UNUSED = [
  /\.(map|d\.[cm]?ts|tsbuildinfo|md|markdown)$/,
  /query_compiler_\w+\.(cockroachdb|mysql|sqlite|sqlserver)\.|query_compiler_\S+\.js$/,
  /^\.next\/cache(\/|$)/,
  // The closure has its own. Those below `.next` are links of Next's, which it cannot do without.
  /^node_modules(\/|$)/,
];

/** Whether a file or folder of a package goes into an image. @param path within the package */
export const isShipped = (path) => !UNUSED.some((pattern) => pattern.test(path));
