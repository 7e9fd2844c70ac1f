import { describe, expect, it } from '@jest/globals';
import { createLogger } from '@tidegate/runtime';
import { ConditionWriter } from './condition-writer.ts';
import type { ConditionRecord } from './store.ts';

const logger = createLogger({ service: 'runner', level: 'silent' });
const record = (condition: ConditionRecord['condition']): ConditionRecord => ({
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

  async writeCondition(modelId: string, { condition }: ConditionRecord): Promise<void> {
    if (this.hold) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.fail) {
      this.fail = false;
      throw new Error('away');
    }
    this.written.push(`${modelId} ${condition}`);
  }

  release(): void {
    this.hold = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

describe('conditions on their way to Postgres', () => {
  it('are written in order; of a model, those overtaken while waiting are left out, never the last', async () => {
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

  it('are tried again until they are written', async () => {
    const store = new Store();
    const writer = new ConditionWriter(store, logger);
    store.fail = true;
    writer.write('a', record('failed'));
    expect(await writer.flush(5_000)).toBe(true);
    expect(store.written).toEqual(['a failed']);
  });

  it('are not said to be written when they are not, and not written after the end', async () => {
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
