/** Puts together the files of one image: `assemble.mjs APP OUT`, in a built checkout. */
import { cpSync, existsSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { closureOf, isShipped } from './closure.mjs';

const [app = '', out = ''] = process.argv.slice(2);
const ROOT = process.cwd();
const MAINS = { migrate: 'packages/db/dist/migrate-main.js', standin: 'packages/standin/dist/main.js' };
const main = MAINS[app] ?? `apps/${app}/dist/main.js`;

function copy(folder) {
  cpSync(folder, resolve(out, relative(ROOT, folder)), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => isShipped(relative(folder, path)),
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
// Node follows this link to the program, which then finds its files.
symlinkSync(main, join(out, 'main.js'));
