import { describe, expect, it } from '@jest/globals';
import type { CatalogUpdate } from '@tidegate/rpc';
import fc from 'fast-check';
import { CatalogSource } from '../catalog/catalog.ts';
import { Feed, type UpdateSink } from './feed.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A stream that takes `room` updates before it is full. */
class Sink implements UpdateSink {
  readonly updates: CatalogUpdate[] = [];
  room = Number.POSITIVE_INFINITY;
  #drain = () => {};

  write(update: CatalogUpdate): boolean {
    this.updates.push(update);
    return --this.room > 0;
  }

  on(_event: 'drain', listener: () => void): void {
    this.#drain = listener;
  }

  drain(room: number): void {
    this.room = room;
    this.#drain();
  }

  /** What a gateway knows after applying all updates. */
  applied(): Map<string, string> {
    const known = new Map<string, string>();
    for (const { snapshot, models, removedModelIds } of this.updates) {
      if (snapshot) known.clear();
      for (const model of models ?? []) known.set(model.modelId ?? '', model.name ?? '');
      for (const modelId of removedModelIds ?? []) known.delete(modelId);
    }
    return known;
  }
}

const named = (modelId: string, name: string) => ({ modelId, name });

describe('a watcher of the catalog', () => {
  it('gets a snapshot immediately, then the changes of a turn as one update, with increasing revisions', async () => {
    const catalog = new CatalogSource(1);
    catalog.put(named('a', '1'));
    const sink = new Sink();
    new Feed(catalog, sink);
    expect(sink.updates).toMatchObject([{ snapshot: true, models: [{ modelId: 'a' }] }]);
    catalog.put(named('b', '1'));
    catalog.put(named('b', '2'));
    catalog.remove('a');
    await nextTurn();
    expect(sink.updates).toHaveLength(2);
    expect(sink.updates[1]).toEqual({
      revision: catalog.revision,
      snapshot: false,
      models: [named('b', '2')],
      removedModelIds: ['a'],
    });
    expect(Number(sink.updates[1]?.revision)).toBeGreaterThan(Number(sink.updates[0]?.revision));
  });

  it('that is slow gets one update when it has room, and a snapshot after many changes', async () => {
    const catalog = new CatalogSource(1);
    const sink = new Sink();
    sink.room = 1;
    new Feed(catalog, sink);
    for (let i = 0; i < 10_000; i++) catalog.put(named(`m${i % 5_000}`, `${i}`));
    await nextTurn();
    expect(sink.updates).toHaveLength(1);
    sink.drain(10);
    await nextTurn();
    expect(sink.updates).toHaveLength(2);
    expect(sink.updates[1]).toMatchObject({ snapshot: true, revision: catalog.revision });
    expect(sink.updates[1]?.models).toHaveLength(5_000);
  });

  it('ends up with what the catalog holds, however slow it is and whatever changes', async () => {
    const change = fc.record({ id: fc.nat(5), remove: fc.boolean(), room: fc.nat(2), turn: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 40 }), async (changes) => {
        const catalog = new CatalogSource(1);
        const sink = new Sink();
        new Feed(catalog, sink);
        for (const [i, { id, remove, room, turn }] of changes.entries()) {
          if (remove) catalog.remove(`m${id}`);
          else catalog.put(named(`m${id}`, `${i}`));
          sink.drain(room);
          if (turn) await nextTurn();
        }
        sink.drain(Number.POSITIVE_INFINITY);
        await nextTurn();
        const held = new Map(catalog.all().map(({ modelId, name }) => [modelId, name]));
        expect(sink.applied()).toEqual(held);
        expect(sink.updates.at(-1)?.revision).toBe(catalog.revision);
      }),
    );
  });

  it('gets nothing more once closed', async () => {
    const catalog = new CatalogSource(1);
    const sink = new Sink();
    const feed = new Feed(catalog, sink);
    catalog.put(named('a', '1'));
    feed.close();
    await nextTurn();
    expect(sink.updates).toHaveLength(1);
  });
});
