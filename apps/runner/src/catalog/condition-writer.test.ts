import { describe, expect, it } from '@jest/globals';
import { createLogger } from '@tidegate/runtime';
import { ConditionWriter } from './condition-writer.ts';
import type { PersistedCondition } from './spec.ts';

const logger = createLogger({ service: 'runner', level: 'silent' });
const record = (condition: PersistedCondition['condition']): PersistedCondition => ({
  condition,
  reason: '',
  atMs: 0,
});

/** A Postgres that answers when the test tells it to. */
class Store {
  readonly written: string[] = [];
  fail = false;
  #waiting: (() => void)[] = [];
  hold = false;

  /** The model whose row is locked. */
  locked = '';

  async writeCondition(modelId: string, { condition, reason }: PersistedCondition): Promise<void> {
    if (modelId === this.locked) throw new Error('locked');
    if (this.hold) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.fail) {
      this.fail = false;
      throw new Error('unavailable');
    }
    this.written.push(`${modelId} ${condition}${reason}`);
  }

  release(): void {
    this.hold = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

describe('condition writes', () => {
  it("happen in order, and skip a model's outdated conditions, but never its last one", async () => {
    const store = new Store();
    const writer = new ConditionWriter(store, logger);
    store.hold = true;
    writer.write('a', record('starting'));
    writer.write('a', record('running'));
    writer.write('b', record('starting'));
    writer.write('a', record('stopped'));
    store.release();
    expect(await writer.flush(5_000)).toBe(true);
    expect(store.written).toEqual(['a starting', 'b starting', 'a stopped']);
    writer.write('a', record('starting'));
    expect(await writer.flush(5_000)).toBe(true);
    expect(store.written.at(-1)).toBe('a starting');
  });

  it('are retried until they succeed', async () => {
    const store = new Store();
    const writer = new ConditionWriter(store, logger);
    store.fail = true;
    writer.write('a', record('failed'));
    expect(await writer.flush(5_000)).toBe(true);
    expect(store.written).toEqual(['a failed']);
  });

  it('go on for other models while those of one model fail', async () => {
    const store = new Store();
    const writer = new ConditionWriter(store, logger);
    store.locked = 'a';
    for (const modelId of ['a', 'b', 'c']) writer.write(modelId, record('running'));
    expect(await writer.flushOne('c', 5_000)).toBe(true);
    expect(store.written).toEqual(['b running', 'c running']);
    expect(await writer.flushOne('a', 10)).toBe(false);
    store.locked = '';
    expect(await writer.flushOne('a', 5_000)).toBe(true);
    expect(store.written.at(-1)).toBe('a running');
    expect(await writer.flushOne('a', 0)).toBe(true);
  });

  it('have no NUL bytes, which Postgres does not accept', async () => {
    const store = new Store();
    const writer = new ConditionWriter(store, logger);
    writer.write('a', { ...record('failed'), reason: ': pr\0inted\0' });
    await writer.flush(5_000);
    expect(store.written).toEqual(['a failed: printed']);
  });

  it('are not reported as done before they are, and do not happen once the writer is closed', async () => {
    const store = new Store();
    const writer = new ConditionWriter(store, logger);
    store.hold = true;
    writer.write('a', record('failed'));
    expect(await writer.flush(10)).toBe(false);
    await writer.close(10);
    writer.write('a', record('running'));
    store.release();
    await writer.flush(5_000);
    expect(store.written).toEqual(['a failed']);
  });
});
