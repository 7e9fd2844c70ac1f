// @ts-check
import { until } from './command.mjs';

const PAUSE_MS = 200;
const PATIENCE_MS = 20_000;
const LOOK_AGAIN_MS = 3_000;
const SOON_MS = 120_000;

/**
 * One completion.
 * @param {string} url of the API
 * @param {string} key
 * @param {string} [model]
 * @returns {Promise<number>} its status; 0: no whole answer
 */
export async function complete(url, key, model = 'demo-text') {
  try {
    const answer = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { choices } = /** @type {any} */ (await answer.json());
    return answer.ok && typeof choices?.[0]?.message.content !== 'string' ? 0 : answer.status;
  } catch {
    return 0;
  }
}

/** A light load: one request after the other, at all gateways in turn. */
class Load {
  /** @type {Map<number, number>} How many requests ended with each status. */
  counts = new Map();
  #goesOn = true;
  /** @type {Promise<void>} */
  #done;

  /** @param {string} key @param {() => Promise<string[]>} gateways @param {number} lookAgainMs */
  constructor(key, gateways, lookAgainMs) {
    this.#done = this.#run(key, gateways, lookAgainMs);
  }

  /** @param {string} key @param {() => Promise<string[]>} gateways @param {number} lookAgainMs */
  async #run(key, gateways, lookAgainMs) {
    /** @type {string[]} */
    let urls = [];
    let askedAtMs = 0;
    for (let turn = 0; this.#goesOn; turn++) {
      if (Date.now() - askedAtMs > lookAgainMs) {
        urls = await gateways().catch(() => urls);
        askedAtMs = Date.now();
      }
      const status = urls.length > 0 ? await complete(urls[turn % urls.length] ?? '', key) : 0;
      this.counts.set(status, (this.counts.get(status) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  get answered() {
    return this.counts.get(200) ?? 0;
  }

  get failed() {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0) - this.answered;
  }

  /** How many requests ended how, in words. */
  get summary() {
    const others = [...this.counts].filter(([status]) => status !== 200);
    const failed = others.map(([status, count]) => `${count} × ${status || 'no answer'}`);
    return `${this.answered} answered, ${failed.join(', ') || 'none failed'}`;
  }

  async stop() {
    this.#goesOn = false;
    await this.#done;
  }
}

/**
 * Does `work` under a light load that outlasts it. Adds the answers to those of `world`.
 * @param {{ key: string, answered: number }} world
 * @param {() => Promise<string[]>} gateways their URLs, looked up again at intervals
 * @param {(load: Load) => Promise<unknown>} work
 * @param {number} [lookAgainMs] the interval
 */
export async function underLoad(world, gateways, work, lookAgainMs = LOOK_AGAIN_MS) {
  const load = new Load(world.key, gateways, lookAgainMs);
  try {
    await until('the load', SOON_MS, async () => load.answered > 0);
    await work(load);
    const before = load.answered;
    await until('answers afterwards', SOON_MS, async () => load.answered > before + 2);
  } finally {
    await load.stop();
  }
  world.answered += load.answered;
  return load;
}
