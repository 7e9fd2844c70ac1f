import type { KnownProcess } from '@tidegate/processes';
import { StackError } from '../errors.ts';
import { type Files, readJson } from '../files.ts';
import type { StackInfo } from '../info.ts';

/**
 * @param isAlive the one of packages/processes: this also runs while node_modules is missing
 * @throws StackError when a launcher already uses the data folder; the hint says where its services
 * answer
 */
export function assertNotRunning(files: Files, isAlive: (known: KnownProcess) => boolean): void {
  const holder = readJson(files.lock) as KnownProcess | null;
  if (!holder || !isAlive(holder)) return;
  const info = readJson(files.stack) as StackInfo | null;
  const answers = [info?.gateway && `API: ${info.gateway}`, info?.console && `Console: ${info.console}`];
  throw new StackError(`Tidegate is already running here (process ${holder.pid}).`, {
    hint: [
      ...(info ? answers.filter((line) => line) : ['It is starting or stopping.']),
      `Stop it with Ctrl-C in its terminal, or: kill ${holder.pid}`,
      `Its data is in ${files.dataDir}. To run a second one, give it its own --data-dir, --gateway-port and --console-port.`,
    ].join('\n'),
  });
}
