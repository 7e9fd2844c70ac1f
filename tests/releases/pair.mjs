// @ts-check
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRedis, freePort, startPostgres, startRedis } from '@tidegate/embedded';
import { run } from '../support/command.mjs';
import { isOk, Processes } from './processes.mjs';

const ROOT = join(import.meta.dirname, '../..');
const HOST = '127.0.0.1';
const CTL_MS = 60_000;
/** How long a stopping service keeps serving. The load looks for ready gateways more often. */
const SHUTDOWN_DELAY_MS = 4_000;
const BEFORE = 'before';
const SERVICES = /** @type {const} */ (['limiter', 'metering', 'gateway', 'runner']);

/** @typedef {'before' | 'after'} Release */
/**
 * @typedef {{ gateway: string, ready: string, limiter: string }} Addresses
 *   `ready`: the readiness URL of its gateway
 */

/** The previous release's services and those of this checkout, on the same stores. */
export class Pair {
  /** @type {{ stop(): Promise<void> }[]} */
  #stores = [];
  /** @type {Map<Release, Addresses>} The releases that are up. */
  #up = new Map();
  /** @type {NodeJS.ProcessEnv} of `npm start` */
  #env = {};
  /** @type {NodeJS.ProcessEnv} of ctl */
  #ctlEnv = {};
  /** @type {string[]} of gateway and console before */
  #ports = [];
  #opened = Promise.resolve();
  /** The URL of the stand-in for model servers. */
  modelUrl = '';

  /**
   * @param {{
   *   directory: string, checkout: string, models: readonly string[], signal: AbortSignal
   * }} options
   *   `checkout` is that of the previous release. Nothing is started after `signal`.
   */
  constructor({ directory, checkout, models, signal }) {
    this.processes = new Processes(directory, signal);
    this.directory = directory;
    this.checkout = checkout;
    this.models = models;
    this.signal = signal;
    this.data = join(directory, 'data');
  }

  /** Starts the stores and a stand-in, which outlast both releases. */
  open() {
    this.#opened = this.#open();
    return this.#opened;
  }

  async #open() {
    const at = (/** @type {string} */ name) => join(this.directory, name);
    const server = await findRedis({ localDir: at('tools') });
    const postgres = await startPostgres({ dataDir: at('postgres'), port: await freePort() });
    this.#stores.push(postgres);
    const redis = await startRedis({ server, dir: at('redis'), port: await freePort() });
    this.#stores.push(redis);
    const delay = { SHUTDOWN_DELAY_MS: String(SHUTDOWN_DELAY_MS) };
    this.#env = { ...process.env, DATABASE_URL: postgres.url, REDIS_URL: redis.url, ...delay };
    const port = await freePort();
    this.modelUrl = `http://${HOST}:${port}`;
    this.#ports = [String(await freePort()), String(await freePort())];
    const args = ['--port', String(port), ...this.models.flatMap((name) => ['--name', name])];
    const ready = () => isOk(`${this.modelUrl}/health`);
    await this.processes.start('standin', ['packages/standin/dist/main.js', ...args], { cwd: ROOT, ready });
  }

  /** Installs and builds the previous release, as its `npm start` does. */
  buildBefore() {
    return this.processes.run('build', ['infra/ctl.mjs', '--help'], this.checkout);
  }

  /** Runs `npm start` of the previous release. Resolves when everything is ready. */
  async startBefore() {
    const [gateway = '', site = ''] = this.#ports;
    const ports = ['--gateway-port', gateway, '--console-port', site];
    const args = ['infra/start.mjs', '--no-demo', '--data-dir', this.data, ...ports];
    const started = async () => existsSync(join(this.data, 'stack.json'));
    await this.processes.start(BEFORE, args, { cwd: this.checkout, env: this.#env, ready: started });
    // The file is there only while that release runs.
    this.#ctlEnv = JSON.parse(readFileSync(join(this.data, 'env.json'), 'utf8'));
    const ready = this.#serviceBefore('gateway').health.replace(/\w+$/, 'readyz');
    const limiter = this.#ctlEnv.LIMITER_ADDRESSES ?? '';
    this.#up.set('before', { gateway: `http://${HOST}:${gateway}/v1`, ready, limiter });
  }

  async stopBefore() {
    await this.processes.stop(BEFORE);
    this.#up.delete('before');
  }

  /** @returns {Promise<string>} what it applied */
  migrate() {
    const options = { cwd: ROOT, env: this.#env, signal: this.signal };
    return run(process.execPath, ['packages/db/dist/migrate-main.js'], options);
  }

  /** Starts this checkout's services with the settings of those before, on other ports. */
  async startAfter() {
    const [limiterPort, gatewayPort] = [await freePort(), await freePort()];
    const limiter = `${HOST}:${limiterPort}`;
    for (const name of SERVICES) {
      const admin = await freePort();
      const env = {
        ...environmentOf(this.#serviceBefore(name).pid),
        // A runner has the port of the one before: it listens only once it leads.
        ADMIN_PORT: String(admin),
        LIMITER_PORT: String(limiterPort),
        LIMITER_ADDRESSES: limiter,
        GATEWAY_PORT: String(gatewayPort),
      };
      const ready = `http://${HOST}:${admin}/readyz`;
      const options = { cwd: ROOT, env, ready: () => isOk(ready) };
      await this.processes.start(name, [`apps/${name}/dist/main.js`], options);
      if (name !== 'gateway') continue;
      this.#up.set('after', { gateway: `http://${HOST}:${gatewayPort}/v1`, ready, limiter });
    }
  }

  stopRunnerAfter() {
    return this.processes.stop('runner');
  }

  async stopAfter() {
    for (const name of ['gateway', 'metering', 'limiter']) await this.processes.stop(name);
    this.#up.delete('after');
  }

  /** @param {Release} release */
  gatewayOf(release) {
    return this.#up.get(release)?.gateway ?? '';
  }

  /** The URLs of the gateways that are ready, as a proxy sees it. */
  gateways = async () => {
    const all = [...this.#up.values()].map(async ({ gateway, ready }) =>
      (await isOk(ready)) ? [gateway] : [],
    );
    return (await Promise.all(all)).flat();
  };

  /**
   * @param {Release} release whose ctl
   * @param {readonly string[]} args
   * @returns {Promise<any>}
   */
  async ctl(release, args) {
    const { TIDEGATE_DATA_DIR: _, ...outer } = process.env;
    const limiters = [...this.#up.values()].map(({ limiter }) => limiter).join(',');
    const env = { ...outer, ...this.#ctlEnv, LIMITER_ADDRESSES: limiters };
    const cwd = release === 'before' ? this.checkout : ROOT;
    const options = { cwd, env, timeoutMs: CTL_MS, signal: this.signal };
    return JSON.parse(await run(process.execPath, ['apps/ctl/dist/main.js', ...args, '--json'], options));
  }

  /** Stops everything that still runs. */
  async close() {
    await this.#opened.catch(() => {});
    await this.processes.stopAll();
    await Promise.all(this.#stores.map((store) => store.stop()));
  }

  /** @param {string} name @returns {{ pid: number, health: string }} */
  #serviceBefore(name) {
    const { services } = JSON.parse(readFileSync(join(this.data, 'stack.json'), 'utf8'));
    return services.find((/** @type {any} */ service) => service.name === name);
  }
}

/** The variables that a process of Linux was started with. @param {number} pid */
function environmentOf(pid) {
  const entries = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
  return Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/s, 2)));
}
