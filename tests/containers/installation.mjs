// @ts-check
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, until } from '../support/command.mjs';

export const OWNER = { email: 'owner@example.com', password: randomBytes(12).toString('hex') };
const READY_MS = 180_000;
/** Two of each, for `--scale gateway=2`. */
const PORTS = { GATEWAY_PORT: '18080-18081', CONSOLE_PORT: '13000' };
export const CONSOLE_URL = `http://localhost:${PORTS.CONSOLE_PORT}`;

/**
 * Generated values for everything that docker-compose.yml demands, and the first organization.
 * @param {string} compose
 */
function variables(compose) {
  const secrets = [...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => [
    name,
    randomBytes(32).toString(name === 'SECRET_KEY' ? 'base64' : 'hex'),
  ]);
  return {
    ...Object.fromEntries(secrets),
    ...PORTS,
    CONSOLE_URL,
    GATEWAY_PUBLIC_URL: 'http://localhost:18080/v1',
    BOOTSTRAP_ORG: 'Acme',
    BOOTSTRAP_PLAN: 'Pro',
    BOOTSTRAP_OWNER: OWNER.email,
    BOOTSTRAP_PASSWORD: OWNER.password,
    // If Node needs a CA here, it needs it in the build too.
    BUILD_CA_FILE: process.env.BUILD_CA_FILE ?? process.env.NODE_EXTRA_CA_CERTS ?? '/dev/null',
    NPM_CONFIG_REGISTRY: process.env.NPM_CONFIG_REGISTRY ?? '',
  };
}

/** Tidegate in containers: what docker-compose.yml of a checkout describes. */
export class Installation {
  /**
   * @param {import('./engine.mjs').Engine} engine
   * @param {{ checkout: string, directory: string, project: string, hostNetwork: boolean }} options
   *   `directory` holds its secrets. `checkout` may be changed later: that is an upgrade.
   *   `hostNetwork`: builds reach registries as this machine does.
   */
  constructor(engine, { checkout, directory, project, hostNetwork }) {
    this.engine = engine;
    this.checkout = checkout;
    this.project = project;
    this.envFile = join(directory, 'env');
    this.overrides = join(directory, 'compose.overrides.json');
    const compose = readFileSync(join(checkout, 'docker-compose.yml'), 'utf8');
    const lines = Object.entries(variables(compose)).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(this.envFile, lines.join(''), { mode: 0o600 });
    const built = [...compose.matchAll(/^ {2}(\w+):\n(?: {4}.*\n)*? {4}build:/gm)].map(
      ([, name = '']) => name,
    );
    const services = Object.fromEntries(built.map((name) => [name, { build: { network: 'host' } }]));
    writeFileSync(this.overrides, JSON.stringify(hostNetwork ? { services } : { services: {} }));
  }

  /** @param {readonly string[]} args @param {string} [input] */
  compose(args, input) {
    const where = ['--project-directory', this.checkout, '--env-file', this.envFile, '--profile', 'demo'];
    const files = ['-f', join(this.checkout, 'docker-compose.yml'), '-f', this.overrides];
    const { env } = this.engine;
    return run('docker', ['compose', '-p', this.project, ...where, ...files, ...args], {
      env,
      ...(input === undefined ? {} : { input }),
    });
  }

  /** @param {readonly string[]} args @param {string} [input] */
  async ctl(args, input) {
    return JSON.parse(await this.compose(['run', '--rm', '-T', 'ctl', ...args, '--json'], input));
  }

  /** Deletes everything but base images. @param {{ keepImages: boolean }} options */
  async remove({ keepImages }) {
    await this.compose(['down', '--volumes', '--timeout', '5']);
    if (!keepImages) await this.engine.docker(['rmi', '--force', ...(await this.images())]);
  }

  /** The names of the images that it builds. @returns {Promise<string[]>} */
  async images() {
    const all = (await this.compose(['config', '--images'])).split('\n');
    return [...new Set(all)].filter((image) => image.startsWith('tidegate-')).sort();
  }

  /** The ids of a service's containers. @param {string} service @returns {Promise<string[]>} */
  async containersOf(service) {
    return (await this.compose(['ps', '-q', service])).split('\n').filter(Boolean);
  }

  /** @param {string} id @returns {Promise<any>} */
  async inspect(id) {
    return JSON.parse(await this.engine.docker(['inspect', id]))[0];
  }

  /** The URLs of all gateways. @returns {Promise<string[]>} */
  async gateways() {
    const ids = await this.containersOf('gateway');
    const all = await Promise.all(ids.map((id) => this.inspect(id)));
    return all.flatMap(({ NetworkSettings: { Ports } }) =>
      (Ports['8080/tcp'] ?? [])
        .slice(0, 1)
        .map((/** @type {any} */ at) => `http://127.0.0.1:${at.HostPort}/v1`),
    );
  }

  /** The id of the container whose runner leads. Undefined: none does. */
  async leadingRunner() {
    const sql = "SELECT split_part(holder, ':', 1) FROM runner_lease WHERE expires_at > now()";
    const psql = ['psql', '-U', 'tidegate', '-d', 'tidegate', '-tAc', sql];
    const host = await this.compose(['exec', '-T', 'postgres', ...psql]);
    // A container's host name is the beginning of its id.
    return (await this.containersOf('runner')).find((id) => host !== '' && id.startsWith(host));
  }

  /** Waits until each container of a service is healthy. @param {string} service */
  async healthy(service, count = 1) {
    await until(`${service} healthy`, READY_MS, async () => {
      const all = await Promise.all((await this.containersOf(service)).map((id) => this.inspect(id)));
      return all.length === count && all.every(({ State }) => State.Health?.Status === 'healthy');
    });
  }

  /**
   * Kills the first process of a container as the kernel would: `docker kill` would count as
   * stopping it on purpose.
   * @param {string} id
   */
  async killContainer(id) {
    const { State } = await this.inspect(id);
    const [shell, kill] = [['--user', '0', '--entrypoint', 'bash'], `kill -9 ${State.Pid}`];
    await this.engine.docker(['run', '--rm', '--pid', 'host', ...shell, 'tidegate-standin', '-c', kill]);
  }

  /**
   * Kills one container of a service, and waits until it is started again.
   *
   * @param {string} service
   */
  async kill(service) {
    const [id = ''] = await this.containersOf(service);
    const { RestartCount } = await this.inspect(id);
    await this.killContainer(id);
    await until(`${service} started again`, READY_MS, async () => {
      const now = await this.inspect(id);
      return now.RestartCount > RestartCount && now.State.Running;
    });
  }
}
