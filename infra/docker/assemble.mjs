/** Puts together the files of one image: `assemble.mjs APP OUT`, in a built checkout. */
import { cpSync, existsSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { closureOf } from './closure.mjs';

const [app = '', out = ''] = process.argv.slice(2);
const ROOT = process.cwd();
const MAINS = { migrate: 'packages/db/dist/migrate-main.js', standin: 'packages/standin/dist/main.js' };
const main = MAINS[app] ?? `apps/${app}/dist/main.js`;

/** Nothing reads these at run time: Prisma's compilers are for other databases, or for CommonJS. */
const UNUSED = [
  /\.(map|d\.[cm]?ts|tsbuildinfo|md|markdown)$/,
  /query_compiler_\w+\.(cockroachdb|mysql|sqlite|sqlserver)\.|query_compiler_\S+\.js$/,
];

function copy(folder) {
  const inside = (path) => relative(folder, path);
  cpSync(folder, resolve(out, relative(ROOT, folder)), {
    recursive: true,
    filter: (path) =>
      !UNUSED.some((pattern) => pattern.test(path)) &&
      !/(^|\/)node_modules(\/|$)|^\.next\/cache/.test(inside(path)),
  });
}

const { folders, links } = closureOf(ROOT, dirname(dirname(main)));
mkdirSync(out, { recursive: true });
for (const file of ['LICENSE', 'package.json', 'proto']) cpSync(file, join(out, file), { recursive: true });
for (const folder of folders) copy(folder);
for (const link of links) {
  const at = resolve(out, relative(ROOT, link));
  mkdirSync(dirname(at), { recursive: true });
  symlinkSync(relative(dirname(link), realpathSync(link)), at);
}
if (!existsSync(main)) throw new Error(`There is no ${main}: build first.`);
// Node follows this one to the program, which then finds its files.
symlinkSync(main, join(out, 'main.js'));
