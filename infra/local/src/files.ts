import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The checkout that contains this file. */
export const ROOT = resolve(import.meta.dirname, '../../..');

/** The program of the stand-ins, in the checkout. */
export const STANDIN = 'packages/standin/dist/main.js';

const MODE_PRIVATE_FILE = 0o600;
const MODE_PRIVATE_FOLDER = 0o700;
const MODE_PASSABLE_FOLDER = 0o711;

/** The local stack's files. Only their owner can read them. */
export interface Files {
  readonly dataDir: string;
  readonly postgres: string;
  readonly redis: string;
  /** A Redis that was fetched for this machine. `--fresh` keeps it. */
  readonly tools: string;
  readonly runner: string;
  /** The home of model processes, if they run as another user. */
  readonly models: string;
  /**
   * A link to the parts of the stack that are elsewhere, because the models' user cannot enter
   * here.
   */
  readonly elsewhere: string;
  readonly logs: string;
  /** Configuration and data of the Prometheus that `--observe` runs. */
  readonly prometheus: string;
  /** A Prometheus that was fetched for this machine. `--fresh` keeps it. */
  readonly prometheusPackage: string;
  readonly lock: string;
  /** The processes that the launcher started. If it is killed, the next launcher ends them. */
  readonly processes: string;
  readonly secrets: string;
  /** Redis' users, with hashes of their passwords. */
  readonly redisUsers: string;
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
    models: at('models'),
    elsewhere: at('elsewhere'),
    logs: at('logs'),
    prometheus: at('prometheus'),
    prometheusPackage: at('prometheus-package'),
    lock: at('launcher.pid'),
    processes: at('processes.json'),
    secrets: at('secrets.json'),
    redisUsers: at('redis.acl'),
    stack: at('stack.json'),
    env: at('env.json'),
  };
}

/**
 * The data folder: the given one, else TIDEGATE_DATA_DIR (which `ctl` uses too), else `.local` in
 * the checkout.
 */
export const dataDirOf = (given: string | undefined, env: NodeJS.ProcessEnv = process.env): string =>
  resolve(given || env.TIDEGATE_DATA_DIR || join(ROOT, '.local'));

/**
 * Creates the folder and what is missing above it. Not with mkdir's own `recursive`, which never
 * returns where folders cannot be made but seem to be missing, as in /proc.
 */
export function makeFolder(path: string, mode = MODE_PRIVATE_FOLDER): void {
  for (const folder of missingTo(path).reverse()) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      // Another start may have made it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** The folders of a path that do not exist, innermost first. */
function missingTo(path: string): string[] {
  const missing: string[] = [];
  for (let folder = resolve(path); !existsSync(folder); folder = dirname(folder)) missing.push(folder);
  return missing;
}

/**
 * Creates the data folder. Root's Postgres runs as another user, who must be able to pass through
 * it. What is in it stays closed to other users.
 */
export const makeDataFolder = ({ dataDir }: Files): void =>
  makeFolder(dataDir, process.getuid?.() === 0 ? MODE_PASSABLE_FOLDER : MODE_PRIVATE_FOLDER);

/** The folders that a start may make and that do not exist yet, innermost first. */
export function missingFolders(files: Files): string[] {
  const { postgres, redis, tools, runner, models, logs, prometheus, prometheusPackage } = files;
  const inside = [postgres, redis, tools, runner, models, logs, prometheus, prometheusPackage];
  return [...inside.filter((folder) => !existsSync(folder)), ...missingTo(files.dataDir)];
}

/** Removes those of the folders that exist and are empty. */
export function removeEmpty(folders: readonly string[]): void {
  for (const folder of folders) {
    try {
      rmdirSync(folder);
    } catch {
      // It holds something, or it was never made.
    }
  }
}

/** Removes all data and secrets. Keeps the lock and the tools. */
export function wipe(files: Files): void {
  const { postgres, redis, runner, models, logs, prometheus, secrets, redisUsers, stack, env } = files;
  for (const path of [postgres, redis, runner, models, logs, prometheus, secrets, redisUsers, stack, env]) {
    rmSync(path, { recursive: true, force: true });
  }
}

/** Replaces a file atomically. Readers see either the old or the new content, never a part. */
export const writeJson = (path: string, value: unknown): void =>
  writeWhole(path, `${JSON.stringify(value, null, 2)}\n`);

/** As `writeJson`, with any text. */
export function writeWhole(path: string, text: string): void {
  const staged = join(dirname(path), `.${basename(path)}.${process.pid}`);
  try {
    writeFileSync(staged, text, { mode: MODE_PRIVATE_FILE });
    renameSync(staged, path);
  } finally {
    removeFile(staged);
  }
}

/**
 * Null: there is no file, or it is not JSON.
 * @throws the system's error if the file may not be read
 */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

export const removeFile = (path: string): void => rmSync(path, { force: true });

/** Makes room for a new log, and keeps one earlier log beside it. */
export function keepOlder(logFile: string): void {
  try {
    renameSync(logFile, `${logFile}.old`);
  } catch {
    // There was no earlier log.
  }
}

/** The last `lines` lines of a file. Empty if there is no file. */
export function tailOf(path: string, lines: number): string {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '';
  }
}
