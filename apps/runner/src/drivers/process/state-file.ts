import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { LOCAL_POOL } from '@tidegate/contracts';
import { z } from 'zod';

const schema = z.object({
  pid: z.number().int().positive(),
  identity: z.string().min(1),
  port: z.number().int().min(1).max(65_535),
  launchedAtMs: z.number(),
  /** Whether it was told to end. Then no runner adopts it. */
  ending: z.boolean().default(false),
});

/** What the next runner needs to know about a model's process, which leads its group. */
export type ProcessRecord = z.output<typeof schema>;

const SUFFIX = '.json';
/**
 * Pools other than `local` have folders of their own, so that no pool ends what another one runs.
 */
const POOLS = 'pools';

/**
 * Where a pool's records are.
 *
 * @param base the directory of all records of this machine
 */
export const stateDirOf = (base: string, pool: string): string =>
  pool === LOCAL_POOL ? base : join(base, POOLS, pool);

const fileOf = (stateDir: string, modelId: string): string => join(stateDir, modelId + SUFFIX);

/** Null: there is no record, or it cannot be understood. */
export function readRecord(stateDir: string, modelId: string): ProcessRecord | null {
  try {
    return schema.parse(JSON.parse(readFileSync(fileOf(stateDir, modelId), 'utf8')));
  } catch {
    return null;
  }
}

/**
 * Writes the whole record or nothing. It is on disk when this returns. False: it may not be
 * written, and nothing is.
 *
 * @param may asked once everything that can take long is done
 */
export function writeRecord(
  stateDir: string,
  modelId: string,
  record: ProcessRecord,
  may = () => true,
): boolean {
  const file = fileOf(stateDir, modelId);
  // Another runner may be writing its own.
  const next = `${file}.${process.pid}.new`;
  try {
    writeThrough(next, JSON.stringify(record));
    if (!may()) return false;
    renameSync(next, file);
    return true;
  } finally {
    rmSync(next, { force: true });
  }
}

/** Writes a file, and returns when it is on disk. */
function writeThrough(path: string, text: string): void {
  const fd = openSync(path, 'w', 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export function removeRecord(stateDir: string, modelId: string): void {
  rmSync(fileOf(stateDir, modelId), { force: true });
}

/** The models that have a record or a log. */
export const knownModels = (stateDir: string): string[] => [
  ...new Set(readdirSync(stateDir).flatMap((name) => /^(.+?)\.(?:json|log)\b/.exec(name)?.[1] ?? [])),
];

/** The ports of all recorded processes, of all pools. */
export function recordedPorts(base: string): ReadonlySet<number> {
  const dirs = [base, ...poolsWithRecords(base).map((pool) => stateDirOf(base, pool))];
  return new Set(
    dirs.flatMap((dir) => knownModels(dir).flatMap((modelId) => readRecord(dir, modelId)?.port ?? [])),
  );
}

function poolsWithRecords(base: string): string[] {
  try {
    return readdirSync(join(base, POOLS));
  } catch {
    return [];
  }
}
