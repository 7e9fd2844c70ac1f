// @ts-check
import { strict as assert } from 'node:assert';
import { until } from '../support/command.mjs';
import { complete, underLoad } from '../support/load.mjs';

/** @typedef {import('./pair.mjs').Pair} Pair */
/** @typedef {import('./pair.mjs').Release} Release */
/**
 * @typedef {{ key: string, limited: string, answered: number }} World
 *   two keys, and the number of answers
 */

/** The last two are published while only one release has a runner. */
export const MODELS = ['demo-text', 'published-after', 'published-before'];
const ORG = ['--org', 'trial'];
const LIMIT = 600;
const SENT = 700;
const AT_ONCE = 8;
/** Well within the minute of the limit. */
const BURST_MS = 50_000;
const SOON_MS = 60_000;
const LOOK_AGAIN_MS = 1_000;

/** @param {Pair} pair @param {World} world */
export async function start(pair, world) {
  await pair.startBefore();
  await pair.ctl('before', ['org', 'create', '--name', 'Trial', '--plan', 'Pro']);
  // Only the limit of a key may be reached.
  await pair.ctl('before', ['plan', 'set', '--name', 'Pro', '--requests-minute', '6000']);
  const keyOf = async (/** @type {string} */ name, /** @type {number} */ limit) => {
    const flags = ['--name', name, '--rpm', String(limit), '--at-once', String(2 * AT_ONCE)];
    return (await pair.ctl('before', ['key', 'create', ...ORG, ...flags])).key;
  };
  world.key = await keyOf('Load', 6_000);
  world.limited = await keyOf('Limited', LIMIT);
  await publish(pair, world, { by: 'before', at: 'before', model: MODELS[0] ?? '' });
  return 'all ready, an organization, two keys, a model, an answer';
}

/**
 * Publishes a model and waits for its answer: then ctl, the leading runner and that gateway work
 * together.
 * @param {Pair} pair @param {World} world
 * @param {{ by: Release, at: Release, model: string }} how
 */
async function publish(pair, world, { by, at, model }) {
  const settings = ['--kind', 'text', '--mode', 'always_on', '--context', '8192', '--url', pair.modelUrl];
  await pair.ctl(by, ['model', 'publish', ...ORG, '--name', model, ...settings]);
  await until(`an answer of ${model}`, SOON_MS, async () => {
    return (await complete(pair.gatewayOf(at), world.key, model)) === 200;
  });
  world.answered++;
}

/** @param {Pair} pair @param {World} world @param {() => Promise<unknown>} work */
async function withoutFailure(pair, world, work) {
  const load = await underLoad(world, pair.gateways, work, LOOK_AGAIN_MS);
  assert.equal(load.failed, 0, load.summary);
  return load.summary;
}

/** @param {Pair} pair @param {World} world */
export async function migrate(pair, world) {
  let applied = '';
  const summary = await withoutFailure(pair, world, async () => {
    applied = await pair.migrate();
  });
  const names = applied.startsWith('applied ') ? applied.split(', ') : [];
  return `${names.length} applied under the old services; ${summary}`;
}

/** @param {Pair} pair @param {World} world */
export async function join(pair, world) {
  const summary = await withoutFailure(pair, world, () => pair.startAfter());
  assert.equal((await pair.gateways()).length, 2, 'not both gateways are ready');
  return `this limiter, metering, gateway and runner beside the old ones; ${summary}`;
}

/** Both limiters count the requests of one key. @param {Pair} pair @param {World} world */
export async function limit(pair, world) {
  const urls = await pair.gateways();
  /** @type {Map<number, number>} */
  const statuses = new Map();
  let sent = 0;
  const startedAtMs = Date.now();
  const sendSome = async () => {
    while (sent < SENT) {
      const status = await complete(urls[sent++ % urls.length] ?? '', world.limited);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendSome));
  const tookMs = Date.now() - startedAtMs;
  world.answered += statuses.get(200) ?? 0;
  assert.deepEqual(Object.fromEntries(statuses), { 200: LIMIT, 429: SENT - LIMIT });
  assert.ok(tookMs < BURST_MS, `${SENT} requests took ${tookMs} ms, too long to be in one minute`);
  return `${SENT} requests of a key with ${LIMIT} a minute at both gateways within ${Math.ceil(tookMs / 1_000)} s: ${LIMIT} answered`;
}

/** @param {Pair} pair @param {World} world */
export async function forward(pair, world) {
  const summary = await withoutFailure(pair, world, async () => {
    await pair.stopBefore();
    await publish(pair, world, { by: 'after', at: 'after', model: MODELS[1] ?? '' });
  });
  return `the old services stopped, this runner leads and has a new model; ${summary}`;
}

/** @param {Pair} pair @param {World} world */
export async function back(pair, world) {
  const summary = await withoutFailure(pair, world, async () => {
    await pair.stopRunnerAfter();
    await pair.startBefore();
    await publish(pair, world, { by: 'before', at: 'before', model: MODELS[2] ?? '' });
    assert.equal((await pair.gateways()).length, 2, 'not both gateways are ready');
    await pair.stopAfter();
  });
  return `the old services on the new schema, with a new model, and this release's stopped; ${summary}`;
}

/**
 * Expects every answered request in the usage once, and nothing else.
 * @param {Pair} pair @param {World} world
 */
export async function counted(pair, { answered }) {
  const show = async () => (await pair.ctl('after', ['usage', 'show', ...ORG])).totals;
  await until('all answered requests in the usage', SOON_MS, async () => (await show()).requests >= answered);
  const { requests, errors } = await show();
  assert.deepEqual({ requests, errors }, { requests: answered, errors: 0 });
  return `${answered} answered, ${requests} counted, ${errors} as errors`;
}

/**
 * Going forward to this release counts what the previous one left out, such as a sum that it did
 * not know.
 * @param {Pair} pair
 */
export async function again(pair) {
  await pair.startAfter();
  const { findings } = await until('ctl doctor', SOON_MS, () => pair.ctl('after', ['doctor']));
  return `this release's services once more; ctl doctor: ${findings.length} checks, all passed`;
}
