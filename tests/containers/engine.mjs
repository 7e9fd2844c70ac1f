// @ts-check
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { run, until } from '../support/command.mjs';

/**
 * A Docker engine.
 * @typedef {object} Engine
 * @property {NodeJS.ProcessEnv} env how Docker's client finds it
 * @property {boolean} own whether it was started here
 * @property {(args: readonly string[], input?: string) => Promise<string>} docker
 * @property {() => Promise<void>} close stops and deletes it, if it was started here
 */

const START_MS = 60_000;

/**
 * The engine that answers, or one of our own below a directory.
 * @param {string} directory
 * @returns {Promise<Engine>}
 */
export async function openEngine(directory) {
  const given = process.env;
  const answers = (/** @type {NodeJS.ProcessEnv} */ env) =>
    run('docker', ['info', '--format', '{{.ServerVersion}}'], { env, timeoutMs: 20_000 });
  const engineOf = (/** @type {NodeJS.ProcessEnv} */ env, own = false, close = async () => {}) => ({
    env,
    own,
    close,
    docker: (/** @type {readonly string[]} */ args, input = '') => run('docker', args, { env, input }),
  });
  const version = await answers(given).catch(() => '');
  if (version) return engineOf(given);
  if (process.getuid?.() !== 0)
    throw new Error('No Docker engine answers. Start one, or be root and have dockerd on PATH.');

  const address = `unix://${join(directory, 'engine.socket')}`;
  const log = openSync(join(directory, 'engine.log'), 'a');
  const folders = ['data-root', 'exec-root', 'pidfile'].flatMap((name) => [
    `--${name}`,
    join(directory, name),
  ]);
  const daemon = spawn('dockerd', ['--host', address, ...folders], {
    stdio: ['ignore', log, log],
  });
  const ended = new Promise((resolve) => daemon.on('exit', resolve).on('error', resolve));
  const env = { ...given, DOCKER_HOST: address };
  const close = async () => {
    daemon.kill('SIGTERM');
    await ended;
    // A daemon leaves this mounted, and what is mounted cannot be deleted.
    await run('umount', [join(directory, 'exec-root/netns/default')]).catch(() => {});
    await rm(join(directory, 'data-root'), { recursive: true, force: true });
  };
  await until(`the engine (${join(directory, 'engine.log')})`, START_MS, () => answers(env)).catch(
    async (error) => {
      await close();
      throw error;
    },
  );
  return engineOf(env, true, close);
}
