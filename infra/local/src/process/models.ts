import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { endGroup, type KnownProcess } from '@tidegate/processes';
import { type Files, readJson, removeFile } from '../files.ts';

const STOP_GRACE_MS = 5_000;
const KILL_GRACE_MS = 5_000;

/**
 * Ends the model processes once no runner is left. A runner leaves them to the next one, whoever
 * ended it, so only the stack knows that there will be none.
 *
 * The runner describes each of them in a file of its state folder. The process leads its group. The
 * record of one that cannot be ended stays for the next runner.
 */
export async function endModels({ runner }: Files, stopGraceMs = STOP_GRACE_MS): Promise<void> {
  await Promise.allSettled(
    recordsIn(runner).map(async (file) => {
      const model = readJson(file) as Partial<KnownProcess> | null;
      if (typeof model?.pid !== 'number' || typeof model.identity !== 'string') return;
      const { pid, identity } = model;
      await endGroup({ pid, identity }, { stopGraceMs, killGraceMs: KILL_GRACE_MS });
      removeFile(file);
    }),
  );
}

/** The records of all pools: those with other names than `local` have folders of their own. */
function recordsIn(folder: string): string[] {
  try {
    const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return paths.filter((path) => path.endsWith('.json')).map((path) => join(folder, path));
  } catch {
    return [];
  }
}
