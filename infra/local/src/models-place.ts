import {
  chmodSync,
  copyFileSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { canExecute, canRead, UNPRIVILEGED } from '@tidegate/processes';
import { type Files, removeFile, STANDIN } from './files.ts';

/** Where model processes find what they need. */
export interface ModelsPlace {
  /** Node, and the program of the stand-ins. */
  readonly node: string;
  readonly standin: string;
  /** The runner's settings for its models' user. */
  readonly settings: Readonly<Record<string, string>>;
  /** What the user of the stack should know. */
  readonly warning: string | null;
}

interface ModelsPlaceOptions {
  readonly root: string;
  readonly files: Files;
  /** Whether stand-ins run as models. */
  readonly demo: boolean;
  readonly node?: string;
}

const MODE_FOR_ALL = { file: 0o644, program: 0o755 };
const PREFIX = 'tidegate-models-';

/**
 * Under root, models run as another user. What that user cannot reach, for example in root's home,
 * goes into a folder that it can enter: a copy of the stand-in, one of Node if need be, and its
 * home if it cannot pass through the data folder. Models never run as root, unless
 * RUNNER_MODEL_USER says so. `closeModelsPlace` removes that folder.
 */
export function openModelsPlace({
  root,
  files,
  demo,
  node = process.execPath,
}: ModelsPlaceOptions): ModelsPlace {
  const here = { node, standin: join(root, STANDIN), warning: null };
  closeModelsPlace(files);
  if (process.getuid?.() !== 0 || process.env.RUNNER_MODEL_USER) return { ...here, settings: {} };
  const canStart = !demo || (canExecute(UNPRIVILEGED, [node]) && canRead(UNPRIVILEGED, ofStandin(root)));
  const isHome = canExecute(UNPRIVILEGED, [files.dataDir]);
  if (canStart && isHome) return { ...here, settings: homeAt(files.models) };
  const place = newFolder();
  symlinkSync(place, files.elsewhere);
  const settings = homeAt(isHome ? files.models : join(place, 'home'));
  return { ...here, ...(canStart ? {} : copied(root, node, place)), settings };
}

/** Removes the copies, also those of a launcher that was killed. */
export function closeModelsPlace({ elsewhere }: Files): void {
  if (!lstatSync(elsewhere, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const place = readlinkSync(elsewhere);
  // Whatever the link has become, nothing else is removed.
  if (basename(place).startsWith(PREFIX)) rmSync(place, { recursive: true, force: true });
  removeFile(elsewhere);
}

const homeAt = (home: string): Record<string, string> =>
  process.env.RUNNER_MODEL_HOME ? {} : { RUNNER_MODEL_HOME: home };

/** The folder of the stand-in's workspace, and the packages that it needs. */
function ofStandin(root: string): string[] {
  const workspace = dirname(dirname(join(root, STANDIN)));
  const { dependencies } = JSON.parse(readFileSync(join(workspace, 'package.json'), 'utf8'));
  const packages = Object.keys(dependencies).map((name) => join(root, 'node_modules', name));
  return [join(root, STANDIN), ...packages];
}

/** A new folder that other users can enter, and only root can write to. */
function newFolder(): string {
  const temporary = [tmpdir(), '/tmp'].find((folder) => canExecute(UNPRIVILEGED, [folder])) ?? tmpdir();
  const folder = mkdtempSync(join(temporary, PREFIX));
  chmodSync(folder, MODE_FOR_ALL.program);
  return folder;
}

function copied(root: string, node: string, place: string): Omit<ModelsPlace, 'settings'> {
  const [program = '', ...packages] = ofStandin(root);
  const workspace = dirname(dirname(program));
  mkdirSync(join(place, 'node_modules'));
  cpSync(join(workspace, 'package.json'), join(place, 'package.json'));
  cpSync(dirname(program), join(place, 'dist'), { recursive: true });
  for (const path of packages)
    cpSync(path, join(place, 'node_modules', path.slice(join(root, 'node_modules/').length)), {
      recursive: true,
    });
  openToAll(place);
  const standin = join(place, 'dist', 'main.js');
  const warning = `Models run as uid ${UNPRIVILEGED.uid}, which cannot read ${root}. Keep the files of models that you publish where it can read them, or set RUNNER_MODEL_USER.`;
  if (canExecute(UNPRIVILEGED, [node])) return { node, standin, warning };
  const own = join(place, 'node');
  copyFileSync(node, own);
  chmodSync(own, MODE_FOR_ALL.program);
  return { node: own, standin, warning };
}

/**
 * Lets all users read a copy, whatever the modes in the checkout: its umask may have been strict.
 */
function openToAll(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
    chmodSync(
      join(entry.parentPath, entry.name),
      entry.isDirectory() ? MODE_FOR_ALL.program : MODE_FOR_ALL.file,
    );
}
