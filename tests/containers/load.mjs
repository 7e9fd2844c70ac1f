// @ts-check
const PAUSE_MS = 200;
const PATIENCE_MS = 20_000;
const LOOK_AGAIN_MS = 3_000;

/**
 * One completion.
 * @param {string} url of the API
 * @param {string} key
 * @returns {Promise<number>} its status; 0: no whole answer
 */
export async function complete(url, key) {
  try {
    const answer = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo-text', messages: [{ role: 'user', content: 'Hello!' }] }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { choices } = /** @type {any} */ (await answer.json());
    return answer.ok && typeof choices?.[0]?.message.content !== 'string' ? 0 : answer.status;
  } catch {
    return 0;
  }
}

/** A light load: one request after the other, at all gateways in turn. */
export class Load {
  /** @type {Map<number, number>} How many requests ended with each status. */
  counts = new Map();
  #goesOn = true;
  /** @type {Promise<void>} */
  #done;

  /** @param {string} key @param {() => Promise<string[]>} gateways asked again now and then */
  constructor(key, gateways) {
    this.#done = this.#run(key, gateways);
  }

  /** @param {string} key @param {() => Promise<string[]>} gateways */
  async #run(key, gateways) {
    /** @type {string[]} */
    let urls = [];
    let askedAtMs = 0;
    for (let turn = 0; this.#goesOn; turn++) {
      if (Date.now() - askedAtMs > LOOK_AGAIN_MS) {
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

  /** What ended how, in words. */
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
