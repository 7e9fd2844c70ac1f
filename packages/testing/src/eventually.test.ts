import { describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';

describe('eventually', () => {
  it('probes again after false, null, undefined and a throw, and gives the first other value', async () => {
    const answers: (() => unknown)[] = [
      () => false,
      () => null,
      () => undefined,
      () => {
        throw new Error('not yet');
      },
      () => Promise.resolve(0),
    ];
    let probes = 0;
    expect(await eventually(() => answers[probes++]?.(), { intervalMs: 1 })).toBe(0);
    expect(probes).toBe(5);
  });

  it('fails with what the last probe said', async () => {
    const probe = () => {
      throw new Error('still 3 of 5');
    };
    const failing = eventually(probe, { timeoutMs: 5, intervalMs: 1 });
    await expect(failing).rejects.toThrow('condition not met within 5 ms; last: still 3 of 5');
  });
});
