// Measures whether the time of a 404 reveals a model of another organization, or one that the key
// may not call. Sends requests for both and for a model that does not exist, in random order over
// one connection, and compares their times by rank.
//
//   node bench/isolation.mjs [requests of each]
//
// Run npm run build first. Prints one JSON document: medians, and for each pair Mann-Whitney's U as
// z, p (two-sided) and the share of pairs in which the first one took longer (0.5: no difference).
import { startStandin } from '@tidegate/standin';
import { Pool } from 'undici';
import { startBench } from './stack.mjs';

const rounds = Number(process.argv[2] ?? 5_000);
const WARM_UP_ROUNDS = 500;
/** Of equal length, so that the answers are of equal length, too. */
const NAMES = { foreign: 'model-aaaa', notAllowed: 'model-bbbb', absent: 'model-cccc' };
const allowed = 'tide';

const bench = await startBench();
const standin = await startStandin({ names: [...Object.values(NAMES), allowed] });
try {
  const key = await prepare();
  process.stdout.write(`${JSON.stringify(await compare(key), null, 2)}\n`);
} finally {
  await standin.close();
  await bench.stop();
}

/**
 * Creates two organizations, each with a model that the other does not have. Resolves to a key of
 * one of them when its model answers.
 */
async function prepare() {
  const [one, other] = [await bench.createOrg('One'), await bench.createOrg('Other')];
  await bench.publish(one, standin.url, { name: NAMES.foreign });
  await bench.publish(other, standin.url, { name: NAMES.notAllowed });
  await bench.publish(other, standin.url, { name: allowed });
  const { key } = await bench.createKey(other, { models: [allowed] });
  await bench.running(key, allowed);
  return key;
}

async function compare(key) {
  const { origin, pathname } = new URL(`${bench.stack.info.gateway}/chat/completions`);
  const pool = new Pool(origin, { connections: 1 });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const status = async (model) => {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] });
    const answer = await pool.request({ method: 'POST', path: pathname, headers, body });
    await answer.body.arrayBuffer();
    return answer.statusCode;
  };
  try {
    return report(await sample(status));
  } finally {
    await pool.close();
  }
}

/** The microseconds of each request, by kind of name. */
async function sample(status) {
  const tookUs = Object.fromEntries(Object.keys(NAMES).map((kind) => [kind, []]));
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    for (const kind of shuffled(Object.keys(NAMES))) {
      const startedMs = performance.now();
      const answered = await status(NAMES[kind]);
      const us = (performance.now() - startedMs) * 1000;
      if (answered !== 404) throw new Error(`${kind}: ${answered}`);
      if (round >= 0) tookUs[kind].push(us);
    }
  }
  return tookUs;
}

function shuffled(items) {
  const mixed = [...items];
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
  }
  return mixed;
}

function report(tookUs) {
  const kinds = Object.keys(tookUs);
  const medianUs = Object.fromEntries(kinds.map((kind) => [kind, Math.round(median(tookUs[kind]))]));
  const pairs = kinds.flatMap((a, i) =>
    kinds.slice(i + 1).map((b) => ({ pair: `${a} / ${b}`, ...mannWhitney(tookUs[a], tookUs[b]) })),
  );
  return { rounds, medianUs, pairs };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** Uses the normal approximation, which is accurate for samples of this size. */
function mannWhitney(a, b) {
  const all = [...a.map((us) => ({ us, first: true })), ...b.map((us) => ({ us, first: false }))];
  all.sort((x, y) => x.us - y.us);
  let rankSum = 0;
  for (let i = 0; i < all.length; ) {
    let end = i;
    while (end < all.length && all[end].us === all[i].us) end++;
    // Ties share the mean of their ranks.
    for (let at = i; at < end; at++) if (all[at].first) rankSum += (i + 1 + end) / 2;
    i = end;
  }
  const u = rankSum - (a.length * (a.length + 1)) / 2;
  const mean = (a.length * b.length) / 2;
  const deviation = Math.sqrt((a.length * b.length * (a.length + b.length + 1)) / 12);
  const z = (u - mean) / deviation;
  const round = (value) => Math.round(value * 10_000) / 10_000;
  return {
    u,
    z: round(z),
    p: round(2 * (1 - normal(Math.abs(z)))),
    firstSlower: round(u / (a.length * b.length)),
  };
}

/**
 * The normal distribution's probability below z >= 0, by Zelen and Severo's approximation. It is
 * accurate to seven digits.
 */
function normal(z) {
  const t = 1 / (1 + 0.2316419 * z);
  const sum =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return 1 - (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * sum;
}
