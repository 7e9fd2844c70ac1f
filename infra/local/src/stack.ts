import { join, resolve } from 'node:path';
import { explained } from './explain.ts';
import { type Files, filesOf, makeDataFolder, missingFolders, ROOT, removeEmpty } from './files.ts';
import type { StackInfo } from './info.ts';
import { closeModelsPlace } from './models-place.ts';
import type { StackOptions } from './options.ts';
import { takeLock } from './process/lock.ts';
import { endModels } from './process/models.ts';
import { Members } from './running.ts';
import { describe, start } from './start.ts';

export interface Stack {
  /** The current state. Also in stack.json. */
  readonly info: StackInfo;
  /** The folder with data, logs and secrets. */
  readonly dataDir: string;
  /**
   * The process id of a member: gateway, gateway-2, limiter, metering, runner, demo-text,
   * demo-vision, postgres, redis, ...
   */
  pid(name: string): number;
  /** Stops a member normally and starts it again. Resolves when it is ready. */
  restart(name: string): Promise<void>;
  /** Sends a signal to a member. If the signal ends it, it is started again. */
  kill(name: string, signal: NodeJS.Signals): void;
  /** Stops everything in order. Nothing is left running. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts all of Tidegate on this machine: stores, migrations, the demo, stand-ins and services.
 * Resolves when everything answers and stack.json is written. If something fails, it stops what it
 * has started and removes the folders that it has made and left empty.
 *
 * @throws StackError that says what to do
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const files = filesOf(resolve(options.dataDir ?? join(ROOT, '.local')));
  const missing = missingFolders(files);
  try {
    return await open(files, options);
  } catch (error) {
    removeEmpty(missing);
    throw explained(error, files.dataDir);
  }
}

async function open(files: Files, options: StackOptions): Promise<Stack> {
  makeDataFolder(files);
  const release = takeLock(files);
  const members = new Members(files, options.report ?? {});
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= members.stop().finally(async () => {
      await endModels(files, options.stopTimeoutMs);
      closeModelsPlace(files);
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
