import { describe, expect, it } from '@jest/globals';
import { decide, type Holder } from './decide.ts';

describe('who gives way', () => {
  const idle = (modelId: string, cost: number, lastUsedMs: number): Holder => ({
    modelId,
    cost,
    lastUsedMs,
    alwaysOn: false,
    pinned: false,
    leaving: false,
    yields: true,
  });
  const wants = (modelId: string, cost: number, waitedMs = 0) => ({
    modelId,
    cost,
    waitedMs,
    alwaysOn: false,
  });

  it('is the least recently used, and no more than are needed', () => {
    const holders = [idle('new', 4, 3), idle('old', 4, 1), idle('middle', 4, 2)];
    expect(decide(12, holders, [wants('x', 4)], 10).sleep).toEqual(['old']);
    expect(decide(12, holders, [wants('x', 8)], 10).sleep).toEqual(['old', 'middle']);
    expect(decide(12, [idle('old', 2, 1), idle('large', 10, 2)], [wants('x', 10)], 10).sleep).toEqual([
      'large',
    ]);
  });

  it('is nobody when all of them together do not give enough, or when enough is coming back', () => {
    const busy = { ...idle('busy', 8, 1), yields: false };
    expect(decide(12, [busy, idle('old', 4, 1)], [wants('x', 8)], 10).sleep).toEqual([]);
    const leaving = { ...idle('leaving', 8, 1), leaving: true };
    expect(decide(12, [leaving, idle('old', 4, 1)], [wants('x', 8)], 10)).toEqual({
      start: [],
      sleep: [],
      refuse: [],
      first: null,
    });
  });

  it('is each that is idle, once one has waited too long for all of them to be idle together', () => {
    const busy = { ...idle('busy', 4, 1), yields: false };
    const holders = [busy, idle('idle', 4, 2), idle('small', 4, 3)];
    const wanting = (waitedMs: number) => [wants('large', 12, waitedMs), wants('late', 4)];
    expect(decide(12, holders, wanting(9), 10)).toMatchObject({ start: [], sleep: ['idle'] });
    expect(decide(12, holders, wanting(10), 10)).toMatchObject({ start: [], sleep: ['idle', 'small'] });
    const left = [busy, { ...idle('small', 4, 3), leaving: true }];
    expect(decide(12, left, wanting(20), 10)).toMatchObject({ start: [], sleep: [] });
  });

  it('is nobody if the waiting model cannot fit beside a pinned one; others overtake it', () => {
    const pinned = { ...idle('pinned', 4, 1), yields: false, pinned: true };
    const wanting = [wants('large', 12, 1_000), wants('small', 4)];
    expect(decide(12, [pinned, idle('idle', 4, 2)], wanting, 10)).toEqual({
      start: ['small'],
      sleep: [],
      refuse: [],
      first: null,
    });
  });

  it('makes room for the first that waits, and others pass it only while it is patient', () => {
    const busy = { ...idle('busy', 8, 1), yields: false };
    const wanting = (waitedMs: number) => [wants('large', 8, waitedMs), wants('small', 4)];
    expect(decide(12, [busy], wanting(9), 10).start).toEqual(['small']);
    expect(decide(12, [busy], wanting(10), 10).start).toEqual([]);
    // Room that is coming back is kept for it, and what is left over is not.
    const leaving = { ...idle('leaving', 6, 1), leaving: true };
    expect(decide(12, [leaving], [wants('large', 8), wants('small', 4)], 10).start).toEqual(['small']);
    expect(decide(12, [leaving], [wants('large', 8), wants('small', 5)], 10).start).toEqual([]);
  });

  it('frees enough even for what models hold beyond a capacity that was made smaller', () => {
    const leaving = { ...idle('leaving', 4, 1), leaving: true };
    expect(decide(4, [leaving, idle('idle', 4, 2)], [wants('x', 4)], 10).sleep).toEqual(['idle']);
  });

  it('is decided in the order of arrival, in which always-on models come no sooner than others', () => {
    const always = { ...wants('always', 4), alwaysOn: true };
    expect(decide(4, [], [wants('x', 4), always], 10).start).toEqual(['x']);
    expect(decide(4, [], [always, wants('x', 4)], 10).start).toEqual(['always']);
  });

  it('is never an always-on model: one that can have no room beside those is refused', () => {
    const always = { ...idle('always', 8, 1), alwaysOn: true, yields: false };
    expect(decide(12, [always], [wants('x', 5), wants('y', 4)], 10)).toEqual({
      start: ['y'],
      sleep: [],
      refuse: ['x'],
      first: null,
    });
  });

  it('is nobody while an always-on model is leaving: the waiting model takes its room', () => {
    const leaving = { ...idle('always', 8, 1), alwaysOn: true, yields: false, leaving: true };
    expect(decide(12, [leaving, idle('idle', 4, 1)], [wants('x', 8)], 10)).toEqual({
      start: [],
      sleep: [],
      refuse: [],
      first: null,
    });
  });
});
