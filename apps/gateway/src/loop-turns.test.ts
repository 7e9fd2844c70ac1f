import { describe, expect, it } from '@jest/globals';
import { LoopTurns } from './loop-turns.ts';

const KIB = 1024;

function start() {
  const turns: (() => void)[] = [];
  const loop = new LoopTurns(16 * KIB, (callback) => turns.push(callback));
  const parsed: string[] = [];
  const parse = async (orgId: string, bytes: number, name = orgId) => {
    await loop.take(orgId, bytes);
    parsed.push(name);
  };
  /** Lets the event loop turn once. */
  const turn = async () => {
    for (const callback of turns.splice(0)) callback();
    await new Promise(setImmediate);
  };
  return { loop, turns, parsed, parse, turn };
}

describe('turns at the event loop', () => {
  it('cost nothing to an organization within its share', () => {
    const { loop, turns } = start();
    for (let i = 0; i < 16; i++) expect(loop.take('a', KIB)).toBeNull();
    expect(turns).toHaveLength(1);
  });

  it('give an organization 16 KiB at a time, or one larger body, in order', async () => {
    const { parsed, parse, turn } = start();
    const all = [parse('a', 30 * KIB, '1'), parse('a', KIB, '2'), parse('a', 15 * KIB, '3')];
    all.push(parse('a', KIB, '4'), parse('a', 20 * KIB, '5'));
    await Promise.resolve();
    expect(parsed).toEqual(['1']);
    await turn();
    expect(parsed).toEqual(['1', '2', '3']);
    await turn();
    expect(parsed).toEqual(['1', '2', '3', '4']);
    await turn();
    await Promise.all(all);
    expect(parsed).toEqual(['1', '2', '3', '4', '5']);
  });

  it('come immediately for an organization that did not parse, however many bodies of another wait', async () => {
    const { loop, parsed, parse, turn } = start();
    const flood = Array.from({ length: 50 }, () => parse('a', 30 * KIB));
    expect(loop.take('b', KIB)).toBeNull();
    await turn();
    expect(loop.take('b', 30 * KIB)).toBeNull();
    expect(parsed).toHaveLength(2);
    for (let i = 0; i < 48; i++) await turn();
    await Promise.all(flood);
  });

  it('start again with an idle loop, and then nothing is scheduled', async () => {
    const { loop, turns, turn } = start();
    loop.take('a', 30 * KIB);
    await turn();
    expect(turns).toHaveLength(0);
    expect(loop.take('a', 30 * KIB)).toBeNull();
  });
});
