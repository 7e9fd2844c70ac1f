import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Catalog, type CatalogModel } from './catalog.ts';
import { type ReplicaResult, Replicas } from './replicas.ts';

const replica = (replicaId: string) => ({ replicaId, baseUrl: `http://${replicaId}/v1` });
const model = (...replicaIds: string[]): CatalogModel => ({
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
  replicas: replicaIds.map(replica),
  upstreamModel: '',
  upstreamKey: '',
  version: 1,
});

describe('the choice of a replica', () => {
  const three = model('a', 'b', 'c');

  it('spreads requests: the least in flight first, in turn when equal', () => {
    const replicas = new Replicas(() => 0);
    const taken = Array.from({ length: 6 }, () => replicas.take(three)?.replicaId);
    expect([...taken].sort()).toEqual(['a', 'a', 'b', 'b', 'c', 'c']);
    replicas.release(three, replica('b'), 'answered');
    expect(replicas.take(three)?.replicaId).toBe('b');
  });

  it('never picks the excluded one', () => {
    const replicas = new Replicas(() => 0);
    expect(replicas.take(model('a'), 'a')).toBeNull();
    expect(replicas.take(model())).toBeNull();
  });

  it('skips one that fails, for longer each time, and uses it when there is no other', () => {
    let nowMs = 0;
    const replicas = new Replicas(() => nowMs);
    const two = model('a', 'b');
    const fail = () => {
      for (let taken = replicas.take(two, 'b'); taken; taken = null)
        replicas.release(two, taken, 'unreached');
    };
    const chosen = () => {
      const taken = replicas.take(two);
      if (taken) replicas.release(two, taken, 'unknown');
      return taken?.replicaId;
    };
    fail();
    expect(new Set([chosen(), chosen(), chosen()])).toEqual(new Set(['b']));
    nowMs = 1_000;
    expect(replicas.isEjected(two, replica('a'))).toBe(false);
    fail();
    nowMs = 2_500;
    expect(replicas.isEjected(two, replica('a'))).toBe(true);
    expect(new Set([chosen(), chosen()])).toEqual(new Set(['b']));
    nowMs = 13_000;
    expect(new Set([chosen(), chosen()])).toEqual(new Set(['a', 'b']));
    fail();
    expect(replicas.take(model('a'))?.replicaId).toBe('a');
  });
});

describe('a replica that answers with failures', () => {
  const three = model('a', 'b', 'c');
  let nowMs: number;
  let replicas: Replicas;
  beforeEach(() => {
    nowMs = 0;
    replicas = new Replicas(() => nowMs);
  });
  /** Ends a call to the replica, however full the others are. */
  const end = (replicaId: string, how: ReplicaResult, of = model('a', 'b')) => {
    replicas.take(model(replicaId));
    replicas.release(of, replica(replicaId), how);
  };
  const fail = (replicaId: string, times: number, of = model('a', 'b')) => {
    for (let i = 0; i < times; i++) end(replicaId, 'failed', of);
  };
  const isEjected = (replicaId: string, of = model('a', 'b')) => replicas.isEjected(of, replica(replicaId));

  it('is ejected after five in a row, and for longer if the first one afterwards fails, too', () => {
    fail('a', 4);
    end('a', 'unknown');
    expect(isEjected('a')).toBe(false);
    fail('a', 1);
    expect(isEjected('a')).toBe(true);
    expect([1, 2, 3].map(() => replicas.take(model('a', 'b'))?.replicaId)).toEqual(['b', 'b', 'b']);
    nowMs = 1_000;
    expect(isEjected('a')).toBe(false);
    fail('a', 1);
    nowMs = 2_999;
    expect(isEjected('a')).toBe(true);
    nowMs = 3_000;
    expect(isEjected('a')).toBe(false);
  });

  it('stays in use if it answers one call of five, since an answer resets the count of its failures', () => {
    for (const times of [4, 4]) {
      fail('a', times);
      end('a', 'answered');
    }
    expect(isEjected('a')).toBe(false);
    fail('a', 5);
    end('a', 'answered');
    expect(isEjected('a')).toBe(false);
    fail('a', 4);
    expect(isEjected('a')).toBe(false);
  });

  it('is ejected once, not for each call that was under way', () => {
    fail('a', 40);
    nowMs = 1_000;
    expect(isEjected('a')).toBe(false);
  });

  it('starts slowly when it comes back', () => {
    fail('a', 5);
    nowMs = 1_000;
    const load = () => replicas.take(model('a', 'b'))?.replicaId;
    expect(Array.from({ length: 11 }, load).filter((taken) => taken === 'a')).toHaveLength(1);
    replicas.release(model('a', 'b'), replica('a'), 'answered');
    expect(Array.from({ length: 12 }, load).filter((taken) => taken === 'a')).toHaveLength(2);
  });

  it('stays in use while it is alone, and while no other one answers', () => {
    const alone = { ...model('a'), modelId: 'm2' };
    fail('a', 20, alone);
    expect(isEjected('a', alone)).toBe(false);
    for (let i = 0; i < 20; i++) for (const replicaId of ['a', 'b', 'c']) fail(replicaId, 1, three);
    expect(['a', 'b', 'c'].filter((replicaId) => isEjected(replicaId, three))).toEqual([]);
    end('c', 'answered', three);
    end('c', 'unreached', three);
    fail('b', 1, three);
    expect(isEjected('b', three)).toBe(false);
    nowMs = 1_000;
    fail('b', 1, three);
    expect(isEjected('b', three)).toBe(true);
  });

  it('is called again immediately, without a slow start, when the one that answered fails as often', () => {
    fail('a', 5);
    expect(isEjected('a')).toBe(true);
    fail('b', 5);
    expect([isEjected('a'), isEjected('b')]).toEqual([false, false]);
    const two = model('a', 'b');
    const taken = Array.from({ length: 4 }, () => replicas.take(two)?.replicaId);
    expect([...taken].sort()).toEqual(['a', 'a', 'b', 'b']);
    end('a', 'answered');
    fail('b', 1);
    expect([isEjected('a'), isEjected('b')]).toEqual([false, true]);
  });

  it('is called for other models as before', () => {
    const other = { ...model('a', 'b'), modelId: 'm2' };
    fail('a', 5);
    expect([isEjected('a'), isEjected('a', other)]).toEqual([true, false]);
    end('a', 'answered', other);
    expect(isEjected('a')).toBe(true);
  });

  it('is ejected only after five failures in a row, and only if another replica is not', () => {
    const call = fc.record({
      at: fc.constantFrom('a', 'b', 'c'),
      how: fc.constantFrom<ReplicaResult>('answered', 'unknown', ...Array(14).fill('failed')),
      passedMs: fc.constantFrom(0, 1, 10, 400),
    });
    fc.assert(
      fc.property(fc.array(call, { minLength: 100, maxLength: 100 }), (calls) => {
        nowMs = 0;
        replicas = new Replicas(() => nowMs);
        const inARow: Record<string, number> = { a: 0, b: 0, c: 0 };
        for (const { at, how, passedMs } of calls) {
          nowMs += passedMs;
          end(at, how, three);
          if (how === 'answered') inARow[at] = 0;
          if (how === 'failed') inARow[at] = (inARow[at] ?? 0) + 1;
          const ejected = ['a', 'b', 'c'].filter((replicaId) => isEjected(replicaId, three));
          const others = ['a', 'b', 'c'].filter((replicaId) => !ejected.includes(replicaId));
          const answering = others.filter((replicaId) => (inARow[replicaId] ?? 0) < 5);
          expect({ ejected, answering: answering.length > 0 || ejected.length === 0 }).toMatchObject({
            answering: true,
          });
          expect(ejected.filter((replicaId) => (inARow[replicaId] ?? 0) < 5)).toEqual([]);
        }
      }),
    );
  });
});

describe('the slow start of a replica', () => {
  const START_MS = 10_000;
  let nowMs: number;
  let replicas: Replicas;
  let catalog: Catalog;
  const publish = (...replicaIds: string[]) =>
    catalog.apply({ revision: 1, snapshot: true, models: [model(...replicaIds)], removedModelIds: [] });
  const current = () => catalog.get('m1') as CatalogModel;
  const take = () => replicas.take(current())?.replicaId;
  /** Begins this many more requests. Returns how many went to each replica. */
  const load = (requests: number) => {
    const taken = { a: 0, b: 0 };
    for (let i = 0; i < requests; i++) taken[take() as 'a' | 'b']++;
    return taken;
  };
  beforeEach(() => {
    nowMs = 0;
    replicas = new Replicas(() => nowMs);
    catalog = new Catalog(undefined, (before, after) => replicas.changed(before.replicas, after.replicas));
  });

  it("lets the replica's share grow from a tenth to that of the others when it joins them", () => {
    publish('a');
    publish('a', 'b');
    expect(load(110)).toEqual({ a: 100, b: 10 });
    nowMs = START_MS / 2;
    expect(load(40)).toEqual({ a: 0, b: 40 });
    expect(load(3).b).toBe(1);
    nowMs = START_MS;
    expect(load(51)).toEqual({ a: 0, b: 51 });
    expect(load(10)).toEqual({ a: 5, b: 5 });
  });

  it('begins when the replica is no longer ejected, and does not end early when it answers', () => {
    publish('a', 'b');
    replicas.take(current(), 'a');
    replicas.release(current(), replica('b'), 'unreached');
    nowMs = 1_000;
    expect(load(110)).toEqual({ a: 100, b: 10 });
    replicas.release(current(), replica('b'), 'answered');
    expect(load(1)).toEqual({ a: 0, b: 1 });
    expect(load(9)).toEqual({ a: 9, b: 0 });
  });

  it('slows down neither replicas that start together nor one that answers in spite of a failure', () => {
    publish();
    publish('a');
    nowMs = 1_000;
    publish('a', 'b');
    expect(load(10)).toEqual({ a: 5, b: 5 });
    replicas.release(current(), replica('b'), 'unreached');
    replicas.release(current(), replica('b'), 'answered');
    expect(load(2)).toEqual({ a: 0, b: 2 });
  });

  it('takes nothing from a replica that is alone, or the only one left to try', () => {
    publish('a');
    publish('b');
    expect(load(5)).toEqual({ a: 0, b: 5 });
    publish('a', 'b');
    expect(replicas.take(current(), 'b')?.replicaId).toBe('a');
  });

  it('never gives the replica more than its share, and never passes it over once it is due', () => {
    const steps = fc.array(fc.record({ ends: fc.boolean(), passedMs: fc.integer({ min: 0, max: 500 }) }), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(steps, (all) => {
        nowMs = 0;
        replicas = new Replicas(() => nowMs);
        publish('a');
        publish('a', 'b');
        const inFlight: ('a' | 'b')[] = [];
        for (const { ends, passedMs } of all) {
          nowMs += passedMs;
          const ended = ends && inFlight.shift();
          if (ended) replicas.release(current(), replica(ended), 'answered');
          const [a = 0, b = 0] = ['a', 'b'].map((id) => inFlight.filter((taken) => taken === id).length + 1);
          const due = a * Math.min(1, Math.max(0.1, nowMs / START_MS));
          const taken = take() as 'a' | 'b';
          expect(taken === 'b' ? b <= due + 1e-9 : b >= due - 1e-9).toBe(true);
          inFlight.push(taken);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('a replica that is removed', () => {
  it('gets no new request, and counts those in flight until they end', () => {
    const replicas = new Replicas(() => 0);
    for (let i = 0; i < 4; i++) replicas.take(model('a', 'b'));
    expect([1, 2, 3].map(() => replicas.take(model('b'))?.replicaId)).toEqual(['b', 'b', 'b']);
    replicas.release(model('b'), replica('a'), 'answered');
    expect([1, 2].map(() => replicas.take(model('a', 'b'))?.replicaId)).toEqual(['a', 'a']);
  });
});
