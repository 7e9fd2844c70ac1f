// @ts-check
import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { diesWithParent, exitOf, stopChild } from '@tidegate/processes';
import { until } from '../support/command.mjs';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */
/** @typedef {import('@tidegate/processes').Exit} Exit */

const READY_MS = 120_000;
const PROBE_MS = 2_000;
/** `npm start` stops its services one kind after the other. */
const STOP_MS = 90_000;
const LOGGED_LINES = 15;

/** Programs of Node by name, each with a log in `directory`. None is started after `signal`. */
export class Processes {
  /** @type {Map<string, { child: ChildProcess, exited: Promise<Exit> }>} */
  #running = new Map();

  /** @param {string} directory @param {AbortSignal} signal */
  constructor(directory, signal) {
    this.directory = directory;
    this.signal = signal;
  }

  /**
   * Resolves when it is ready.
   * @param {string} name
   * @param {string[]} args
   * @param {{ cwd: string, env?: NodeJS.ProcessEnv, ready: () => Promise<boolean> }} options
   */
  async start(name, args, { ready, ...options }) {
    await this.#spawn(name, args, options);
    await until(`${name} ready`, READY_MS, ready);
  }

  /**
   * Resolves when it has ended well.
   * @param {string} name @param {string[]} args @param {string} cwd
   */
  async run(name, args, cwd) {
    const { code, signal } = await (await this.#spawn(name, args, { cwd })).exited;
    await this.stop(name);
    if (code !== 0) throw new Error(`${name}: ended with ${code ?? signal}`);
  }

  /**
   * @param {string} name @param {string[]} args
   * @param {{ cwd: string, env?: NodeJS.ProcessEnv }} options
   */
  async #spawn(name, args, { cwd, env }) {
    // A group of its own: a terminal's Ctrl-C reaches it only through `stop`, which ends all of it.
    const plain = { command: process.execPath, args, options: { cwd, env, detached: true } };
    const command = await diesWithParent(plain);
    this.signal.throwIfAborted();
    const log = openSync(join(this.directory, `${name}.log`), 'a');
    const child = spawn(command.command, command.args, { ...command.options, stdio: ['ignore', log, log] });
    closeSync(log);
    const running = { child, exited: exitOf(child) };
    this.#running.set(name, running);
    return running;
  }

  /** @param {string} name */
  async stop(name) {
    const running = this.#running.get(name);
    this.#running.delete(name);
    if (running) await stopChild(running.child, { exited: running.exited, timeoutMs: STOP_MS });
  }

  async stopAll() {
    await Promise.all([...this.#running.keys()].map((name) => this.stop(name)));
  }

  /** The last lines of each log, without what went well. */
  logs() {
    const all = readdirSync(this.directory, { recursive: true, encoding: 'utf8' });
    const tails = all
      .filter((path) => path.endsWith('.log'))
      .map((path) => {
        const lines = readFileSync(join(this.directory, path), 'utf8').trimEnd().split('\n');
        const telling = lines.filter((line) => !/"status":(200|429)/.test(line));
        return [path, ...telling.slice(-LOGGED_LINES)].join('\n');
      });
    return tails.join('\n\n');
  }
}

/** @param {string} url */
export const isOk = (url) =>
  fetch(url, { signal: AbortSignal.timeout(PROBE_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );
