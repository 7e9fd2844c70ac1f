import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Linked, LinkedList } from './linked-list.ts';

interface Value extends Linked<Value> {
  readonly id: number;
}

const newValue = (id: number): Value => ({ id, previous: null, next: null, listed: false });

describe('a linked list', () => {
  it('has the same contents as a Set, in the same order, however values come and go', () => {
    const step = fc.record({ add: fc.boolean(), id: fc.nat(7) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const values = Array.from({ length: 8 }, (_, id) => newValue(id));
        const list = new LinkedList<Value>();
        const set = new Set<Value>();
        for (const { add, id } of steps) {
          const value = values[id] as Value;
          if (add) list.add(value);
          else list.delete(value);
          if (add) set.add(value);
          else set.delete(value);
          expect([...list]).toEqual([...set]);
          expect(list.size).toBe(set.size);
          expect(values.map(({ listed }) => listed)).toEqual(values.map((each) => set.has(each)));
        }
      }),
    );
  });

  it('keeps no link in a value that has left, so that it keeps no other one in memory', () => {
    const [first, second, third] = [newValue(1), newValue(2), newValue(3)];
    const list = new LinkedList<Value>();
    for (const value of [first, second, third]) list.add(value);
    list.delete(second);
    expect(second).toEqual(newValue(2));
    expect(first.next).toBe(third);
  });

  it('may be changed during a loop, which skips values that have left', () => {
    const values = [1, 2, 3, 4].map(newValue);
    const list = new LinkedList<Value>();
    for (const value of values) list.add(value);
    const seen: number[] = [];
    for (const { id } of list) {
      seen.push(id);
      for (const value of values.slice(0, 3)) list.delete(value);
      list.add(newValue(5));
    }
    expect(seen).toEqual([1, 4]);
  });
});
