import { describe, expect, it } from '@jest/globals';
import { Activity } from './activity.ts';
import { Catalog, type CatalogModel } from './catalog.ts';

const model = (change: Partial<CatalogModel> = {}): CatalogModel => ({
  modelId: 'm1',
  orgId: 'o1',
  name: 'text',
  kind: 'text',
  mode: 'always_on',
  contextTokens: 10,
  publishedAtMs: 1,
  condition: 'CONDITION_RUNNING',
  reason: '',
  wakeable: false,
  replicas: [],
  upstreamModel: '',
  upstreamKey: '',
  version: 1,
  ...change,
});
const snapshot = (...models: CatalogModel[]) => ({
  revision: 1,
  snapshot: true,
  models,
  removedModelIds: [],
});
const change = (models: CatalogModel[], removedModelIds: string[] = []) => ({
  revision: 2,
  snapshot: false,
  models,
  removedModelIds,
});

describe('the catalog', () => {
  it('finds models by organization and name only', () => {
    const catalog = new Catalog();
    expect(catalog.known).toBe(false);
    catalog.apply(snapshot(model(), model({ modelId: 'm2', orgId: 'o2' })));
    expect(catalog.known).toBe(true);
    expect(catalog.find('o1', 'text')?.modelId).toBe('m1');
    expect(catalog.find('o2', 'text')?.modelId).toBe('m2');
    expect(catalog.find('o3', 'text')).toBeUndefined();
    expect(catalog.find('o1', 'Text')).toBeUndefined();
    expect(catalog.find('o1', '__proto__')).toBeUndefined();
  });

  it('gives a name to the model published last, even if the runner reports the earlier one again', () => {
    const catalog = new Catalog();
    const old = model({ publishedAtMs: 1 });
    catalog.apply(snapshot(old));
    catalog.apply(change([model({ modelId: 'm2', publishedAtMs: 2 })]));
    catalog.apply(change([{ ...old, condition: 'CONDITION_FAILED' }]));
    expect(catalog.find('o1', 'text')?.modelId).toBe('m2');
    catalog.apply(change([], ['m1']));
    expect(catalog.find('o1', 'text')?.modelId).toBe('m2');
    expect(catalog.published('o1')).toHaveLength(1);
  });

  it('applies changes, removals, and a name that is published again', () => {
    const catalog = new Catalog();
    catalog.apply(snapshot(model()));
    catalog.apply(change([model({ condition: 'CONDITION_ASLEEP' })]));
    expect(catalog.find('o1', 'text')?.condition).toBe('CONDITION_ASLEEP');
    catalog.apply(change([model({ modelId: 'm2' })]));
    catalog.apply(change([], ['m1']));
    expect(catalog.find('o1', 'text')?.modelId).toBe('m2');
    catalog.apply(snapshot());
    expect(catalog.find('o1', 'text')).toBeUndefined();
    expect(catalog.published('o1')).toEqual([]);
  });

  it('notifies the listeners of a model when it changes or is removed', () => {
    const catalog = new Catalog();
    catalog.apply(snapshot(model()));
    const told: (CatalogModel | null)[] = [];
    const end = catalog.onChange('m1', (state) => told.push(state));
    catalog.apply(change([model({ reason: 'x' }), model({ modelId: 'other' })]));
    catalog.apply(snapshot());
    end();
    catalog.apply(snapshot(model()));
    expect(told.map((state) => state?.reason ?? null)).toEqual(['x', null]);
  });
});

describe('the catalog of two pools', () => {
  const a = model({ modelId: 'ma', name: 'a' });
  const b = model({ modelId: 'mb', name: 'b' });
  const names = (catalog: Catalog) => catalog.published('o1').map(({ name }) => name);

  it('is complete when both have sent theirs, and keeps what each has sent', () => {
    const catalog = new Catalog(['local', 'gpu0']);
    catalog.apply(snapshot(a));
    expect([catalog.known, catalog.complete]).toEqual([true, false]);
    catalog.apply(snapshot(b), 'gpu0');
    expect([catalog.complete, names(catalog)]).toEqual([true, ['a', 'b']]);
    catalog.apply(snapshot());
    expect(names(catalog)).toEqual(['b']);
    expect([catalog.poolOf('ma'), catalog.poolOf('mb')]).toEqual([undefined, 'gpu0']);
  });

  it('takes a model that has moved as its new pool reports it, whatever the former pool still says', () => {
    const catalog = new Catalog(['local', 'gpu0']);
    catalog.apply(snapshot(a));
    catalog.apply(snapshot({ ...a, version: 2, condition: 'CONDITION_ASLEEP' }), 'gpu0');
    const told: unknown[] = [];
    catalog.onChange('ma', (state) => told.push(state));
    catalog.apply(snapshot(a));
    catalog.apply(change([], ['ma']));
    catalog.apply(snapshot());
    expect(told).toEqual([]);
    expect([catalog.poolOf('ma'), catalog.get('ma')?.condition]).toEqual(['gpu0', 'CONDITION_ASLEEP']);
    catalog.apply(change([{ ...a, version: 3 }]));
    catalog.apply(change([], ['ma']), 'gpu0');
    expect([catalog.poolOf('ma'), told.length]).toEqual(['local', 1]);
  });
});

describe('activity', () => {
  it('is reported to each runner: what is in flight, and once more what was used since its last report', () => {
    const activity = new Activity();
    const one = activity.reporter(() => {});
    const other = activity.reporter(() => {});
    activity.enter('m1');
    activity.enter('m1');
    activity.leave('m1');
    expect(one.report()).toEqual([{ modelId: 'm1', inFlight: 1 }]);
    activity.leave('m1');
    activity.enter('m2');
    activity.leave('m2');
    expect(one.report()).toEqual([{ modelId: 'm2', inFlight: 0 }]);
    expect(one.report()).toEqual([]);
    expect(other.report()).toEqual([
      { modelId: 'm1', inFlight: 0 },
      { modelId: 'm2', inFlight: 0 },
    ]);
  });
});
