import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Files, readJson } from '../files.ts';
import { identify, signal } from './identity.ts';

/**
 * Ends the models whose runner could not end them, because it died or was killed.
 *
 * The runner describes each of them in a file of its state folder. It holds the pid, which is also
 * the process group's id, and an identity that ends with the start time of the process.
 */
export function endAbandonedModels({ runner }: Files): void {
  for (const name of namesIn(runner)) {
    const record = readJson(join(runner, name)) as { pid?: unknown; identity?: unknown } | null;
    if (typeof record?.pid !== 'number' || typeof record.identity !== 'string') continue;
    const found = identify(record.pid);
    if (found && record.identity.endsWith(`:${found.began}`)) {
      signal(record.pid, 'SIGKILL', { group: true });
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}
