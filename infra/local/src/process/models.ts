import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, type KnownProcess, signal } from '@tidegate/processes';
import { type Files, readJson } from '../files.ts';

/**
 * Ends the models whose runner could not end them, because it died or was killed.
 *
 * The runner describes each of them in a file of its state folder. The process leads its group.
 */
export function endAbandonedModels({ runner }: Files): void {
  for (const name of namesIn(runner)) {
    const model = readJson(join(runner, name)) as Partial<KnownProcess> | null;
    if (typeof model?.pid !== 'number' || typeof model.identity !== 'string') continue;
    const { pid, identity } = model;
    if (isAlive({ pid, identity })) signal(pid, 'SIGKILL', { group: true });
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}
