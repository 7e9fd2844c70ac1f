// @ts-check
import { strict as assert } from 'node:assert';
import { until } from '../support/command.mjs';
import { signInByForm } from '../support/console.ts';
import { complete, underLoad } from '../support/load.mjs';
import { CONSOLE_URL, OWNER } from './installation.mjs';

/** @typedef {import('./installation.mjs').Installation} Installation */
/** @typedef {{ key: string, answered: number }} World the key, and the number of answers */

const SOON_MS = 120_000;
/** Within which a standby leads: docs/models.md, "Which runner leads". */
const TAKEOVER_MS = 10_000;
const SCALED = ['gateway', 'limiter', 'runner'];
const UP = ['up', '-d', '--build', '--wait'];

const gatewaysOf = (/** @type {Installation} */ here) => () => here.gateways();

/**
 * Tries once more if it fails: on a busy machine, a service may take longer than compose waits.
 * @param {Installation} here
 */
const up = (here) => here.compose(UP).catch(() => here.compose(UP));

/** @param {Installation} here */
export async function start(here) {
  await up(here);
  return 'stores, migrations, the first organization, all services healthy';
}

/** A published model, a key, an answer. @param {Installation} here @param {World} world */
export async function firstAnswer(here, world) {
  await here.ctl(publishing('demo-text'));
  // The load must not reach a limit: neither the key's nor the plan's.
  const key = ['--org', 'acme', '--name', 'containers', '--rpm', '6000'];
  world.key = (await here.ctl(['key', 'create', ...key])).key;
  await here.ctl(['plan', 'set', '--name', 'Pro', '--requests-minute', '6000']);
  await answers(here, world);
  await counted(here, world);
  assert.ok(await signInByForm(CONSOLE_URL, OWNER), 'the owner cannot sign in to the console');
  return 'a model published, a key, an answer, its usage, and the owner signed in';
}

/** Arguments of ctl. The stand-in serves one model. @param {string} name */
const publishing = (name) => [
  ...['model', 'publish', '--org', 'acme', '--name', name, '--kind', 'text', '--mode', 'always_on'],
  ...['--context', '8192', '--url', 'http://standin:8000', '--upstream-model', 'demo-text'],
];

/** @param {Installation} here @param {World} world */
async function answers(here, world) {
  await until('an answer', SOON_MS, async () => {
    const [url = ''] = await here.gateways();
    return (await complete(url, world.key)) === 200;
  });
  world.answered++;
}

/**
 * Expects every answered request in the usage, and none of them as an error.
 * @param {Installation} here
 * @param {World} world
 */
export async function counted(here, { answered }) {
  const seen = await until('all answered requests in the usage', SOON_MS, async () => {
    const { totals } = await here.ctl(['usage', 'show', '--org', 'acme']);
    return totals.requests - totals.errors >= answered && totals;
  });
  return `${answered} answered, ${seen.requests - seen.errors} counted as answered, ${seen.errors} as errors`;
}

/**
 * A process in the runner's container has the rights of a model's process. It can read no
 * environment there but its own shell's, even while the engine asks for the runner's health.
 * @param {Installation} here
 */
export async function secretsOfRunner(here) {
  const script = `
    for round in 1 2 3 4 5 6 7 8; do
      for process in /proc/[0-9]*; do
        case $process in /proc/$$) continue ;; esac
        tr '\\0' '\\n' <$process/environ 2>/dev/null | grep -q SECRET_KEY && echo "$process is open"
      done
      sleep 1
    done
    grep -c '' /proc/self/environ >/dev/null && echo looked`;
  const seen = await here.compose(['exec', '-T', '--env', 'SECRET_KEY=', 'runner', 'sh', '-c', script]);
  assert.equal(seen.trim(), 'looked');
  return 'no process there reads the environment of another one';
}

/** @param {string} service */
export const kill = (service) => async (/** @type {Installation} */ here, /** @type {World} */ world) => {
  const { summary } = await underLoad(world, gatewaysOf(here), async () => {
    await here.kill(service);
    await here.healthy(service);
  });
  return `started again; ${summary}`;
};

/** @param {Installation} here @param {World} world */
export async function scale(here, world) {
  const counts = SCALED.flatMap((service) => ['--scale', `${service}=2`]);
  const { summary } = await underLoad(world, gatewaysOf(here), () =>
    here.compose(['up', '-d', '--wait', ...counts]),
  );
  for (const service of SCALED) await here.healthy(service, 2);
  assert.equal((await here.gateways()).length, 2);
  return `two of ${SCALED.join(', ')}; ${summary}`;
}

/** One of two ends at once, while the other one serves. @param {string} service */
export const killOneOfTwo =
  (service) => async (/** @type {Installation} */ here, /** @type {World} */ world) => {
    const { summary } = await underLoad(world, gatewaysOf(here), async () => {
      await here.kill(service);
      await here.healthy(service, 2);
    });
    return `started again; ${summary}`;
  };

/**
 * The other runner leads in time, and takes a new model. The killed one stays away meanwhile: if it
 * were started again immediately, it could take the lead back.
 * @param {Installation} here @param {World} world
 */
export async function killLeadingRunner(here, world) {
  const leader = await until('a leading runner', SOON_MS, () => here.leadingRunner());
  const restart = (/** @type {string} */ policy) =>
    here.engine.docker(['update', '--restart', policy, leader]);
  let tookMs = 0;
  const { summary } = await underLoad(world, gatewaysOf(here), async () => {
    await restart('no');
    await here.killContainer(leader);
    const killedAtMs = Date.now();
    await until('the standby leads', TAKEOVER_MS, async () => {
      const now = await here.leadingRunner();
      return now !== undefined && now !== leader;
    });
    tookMs = Date.now() - killedAtMs;
    await here.ctl(publishing('after-takeover'));
    const [url = ''] = await here.gateways();
    await until('its model answers', SOON_MS, async () => {
      const status = await complete(url, world.key, 'after-takeover');
      return status === 200;
    });
    world.answered++;
    await restart('unless-stopped');
    await here.engine.docker(['start', leader]);
    await here.healthy('runner', 2);
  });
  const seconds = (tookMs / 1_000).toFixed(1);
  return `the standby led after ${seconds} s and took a new model, the other one stands by; ${summary}`;
}

/** @param {string} checkout of the release to upgrade to */
export const upgrade = (checkout) => async (/** @type {Installation} */ here, /** @type {World} */ world) => {
  const before = await imagesOf(here);
  here.checkout = checkout;
  await here.compose(['build']);
  const { summary } = await underLoad(world, gatewaysOf(here), () => up(here));
  const after = await imagesOf(here);
  assert.deepEqual(
    Object.keys(before).filter((service) => before[service] === after[service]),
    [],
    'services still run the image of the previous release',
  );
  return `all services replaced; ${summary}`;
};

/**
 * @param {Installation} here
 * @returns {Promise<Record<string, string>>} the image of each service
 */
async function imagesOf(here) {
  const services = ['limiter', 'metering', 'runner', 'gateway', 'console'];
  const ids = await Promise.all(services.map((service) => here.containersOf(service)));
  const all = await Promise.all(ids.map(([id = '']) => here.inspect(id)));
  return Object.fromEntries(all.map(({ Image }, at) => [services[at], Image]));
}

/** @param {Installation} here */
export async function doctor(here) {
  const { findings } = await until('ctl doctor', SOON_MS, () => here.ctl(['doctor']));
  return `${findings.length} checks, all passed`;
}

/** Megabytes of each image. @param {Installation} here */
export async function sizes(here) {
  const all = (await here.images()).map(async (image) => {
    const { Size } = await here.inspect(image);
    return `${image.slice('tidegate-'.length)} ${Math.round(Size / 1e6)}`;
  });
  return `MB: ${(await Promise.all(all)).join(', ')}`;
}

/** @param {Installation} here */
export async function memory(here) {
  const ids = (await here.compose(['ps', '-q'])).split('\n');
  const lines = await here.engine.docker(['stats', '--no-stream', '--format', '{{.MemUsage}}', ...ids]);
  const MB = { KiB: 0.001, MiB: 1.049, GiB: 1_074 };
  const total = [...lines.matchAll(/^([\d.]+)(KiB|MiB|GiB) /gm)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * MB[/** @type {'MiB'} */ (unit)],
    0,
  );
  return `${ids.length} containers take ${Math.round(total)} MB of memory`;
}
