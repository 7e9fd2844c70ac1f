// @ts-check
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { Failure } from './terminal.mjs';

/** @typedef {import('./terminal.mjs').Terminal} Terminal */

const TRY_AGAIN_MS = 200;
/** Longer than an installation takes over a slow network. */
const PATIENCE_MS = 30 * 60_000;

/**
 * Does `work` while no other process does such work on the same checkout. The lock is an abstract
 * socket, because that ends with its process, however the process ends. Only Linux has them.
 *
 * @template T
 * @param {string} root
 * @param {Terminal} terminal
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withCheckoutLock(root, terminal, work) {
  if (process.platform !== 'linux') return work();
  const path = `\0tidegate-set-up-${createHash('sha256').update(root).digest('hex')}`;
  let lock = await take(path);
  if (!lock) {
    terminal.print('  Another command is setting this checkout up. Waiting for it.');
    const deadlineMs = performance.now() + PATIENCE_MS;
    while (!lock) {
      if (performance.now() > deadlineMs)
        throw new Failure(
          'Another command has been setting this checkout up for half an hour. End it first.',
        );
      await setTimeout(TRY_AGAIN_MS);
      lock = await take(path);
    }
  }
  return work().finally(() => lock?.close());
}

/** Undefined: another process has it. @param {string} path */
async function take(path) {
  const server = createServer((socket) => socket.destroy()).listen({ path });
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}
