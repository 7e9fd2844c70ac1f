import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The checkout that this file is in. */
export const ROOT = resolve(import.meta.dirname, '../../..');

const MODE_PRIVATE_FILE = 0o600;
const MODE_PRIVATE_FOLDER = 0o700;
const MODE_PASSABLE_FOLDER = 0o711;

/** Where the local stack keeps what it knows. All of it is readable by its owner only. */
export interface Files {
  readonly dataDir: string;
  readonly postgres: string;
  readonly redis: string;
  /** A Redis fetched for this machine; outlives --fresh. */
  readonly tools: string;
  readonly runner: string;
  readonly logs: string;
  readonly lock: string;
  /** What the launcher started, for the next one to clear up should this one be killed. */
  readonly processes: string;
  readonly secrets: string;
  readonly stack: string;
  readonly env: string;
}

export function filesOf(dataDir: string): Files {
  const at = (name: string) => join(dataDir, name);
  return {
    dataDir,
    postgres: at('postgres'),
    redis: at('redis'),
    tools: at('tools'),
    runner: at('runner'),
    logs: at('logs'),
    lock: at('launcher.pid'),
    processes: at('processes.json'),
    secrets: at('secrets.json'),
    stack: at('stack.json'),
    env: at('env.json'),
  };
}

/** The folder that was asked for, else the one in TIDEGATE_DATA_DIR, which `ctl` knows too, else `.local` in the checkout. */
export const dataDirOf = (wished: string | undefined, env: NodeJS.ProcessEnv = process.env): string =>
  resolve(wished || env.TIDEGATE_DATA_DIR || join(ROOT, '.local'));

export const makeFolder = (path: string, mode = MODE_PRIVATE_FOLDER): void =>
  void mkdirSync(path, { recursive: true, mode });

/** Root's Postgres runs as another user, who has to pass the folder; what is in it stays closed to him as to everybody. */
export const makeDataFolder = ({ dataDir }: Files): void =>
  makeFolder(dataDir, process.getuid?.() === 0 ? MODE_PASSABLE_FOLDER : MODE_PRIVATE_FOLDER);

/** Forgets all data and secrets; keeps the lock and what was fetched. */
export function wipe(files: Files): void {
  const { postgres, redis, runner, logs, secrets, stack, env } = files;
  for (const path of [postgres, redis, runner, logs, secrets, stack, env]) {
    rmSync(path, { recursive: true, force: true });
  }
}

/** Whoever reads the file sees it whole, as it was or as it is now. */
export function writeJson(path: string, value: unknown): void {
  const staged = join(dirname(path), `.${basename(path)}.${process.pid}`);
  writeFileSync(staged, `${JSON.stringify(value, null, 2)}\n`, { mode: MODE_PRIVATE_FILE });
  renameSync(staged, path);
}

/** Null: there is none, or it is not JSON. @throws what the system says when there is one that may not be read */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

export const removeFile = (path: string): void => rmSync(path, { force: true });

/** Makes room for a new log: one earlier one is kept beside it. */
export function keepOlder(logFile: string): void {
  try {
    renameSync(logFile, `${logFile}.old`);
  } catch {
    // There was none.
  }
}

/** The last `lines` lines of a file, empty when there is none. */
export function tailOf(path: string, lines: number): string {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '';
  }
}
