import { join, resolve } from 'node:path';
import { explained } from './explain.ts';
import { type Files, filesOf, makeDataFolder, ROOT } from './files.ts';
import type { StackInfo } from './info.ts';
import type { StackOptions } from './options.ts';
import { takeLock } from './process/lock.ts';
import { endAbandonedModels } from './process/models.ts';
import { Members } from './running.ts';
import { describe, start } from './start.ts';

export interface Stack {
  /** As it is now; also in stack.json. */
  readonly info: StackInfo;
  /** Where data, logs and secrets are. */
  readonly dataDir: string;
  /** Of a member by name: gateway, gateway-2, limiter, metering, runner, demo-text, demo-vision, postgres, redis, ... */
  pid(name: string): number;
  /** Ends a member in order and starts it again; resolves when it is ready. */
  restart(name: string): Promise<void>;
  /** Sends a signal to a member; what ends by it is started again. */
  kill(name: string, signal: NodeJS.Signals): void;
  /** Ends everything, in order; nothing is left running. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts everything Tidegate consists of on this machine: stores, migrations, the demo, stand-ins, services. Resolves when
 * all of it answers and stack.json says where. What was started is stopped again when something fails.
 *
 * @throws StackError with what to do about it
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const files = filesOf(resolve(options.dataDir ?? join(ROOT, '.local')));
  try {
    return await open(files, options);
  } catch (error) {
    throw explained(error, files.dataDir);
  }
}

async function open(files: Files, options: StackOptions): Promise<Stack> {
  makeDataFolder(files);
  const release = takeLock(files);
  const members = new Members(files, options.report ?? {});
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= members.stop().finally(() => {
      endAbandonedModels(files);
      release();
    });
    return stopped;
  };
  const callOff = () => void stop().catch(() => {});
  options.signal?.addEventListener('abort', callOff, { once: true });
  try {
    const started = await start(files, members, options);
    members.publishAs(() => describe(started, members));
    return {
      get info() {
        return describe(started, members);
      },
      dataDir: files.dataDir,
      pid: members.pidOf,
      restart: (name) => members.get(name).restart(),
      kill: (name, signal) => members.get(name).kill(signal),
      stop,
    };
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', callOff);
  }
}
