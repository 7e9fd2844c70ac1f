import { describe, expect, it } from '@jest/globals';
import { slotOf } from './slot.ts';

describe('the slot of a key', () => {
  it('is the one that Redis says', () => {
    // As CLUSTER KEYSLOT tells them.
    expect(slotOf('123456789')).toBe(12_739);
    expect(slotOf('foo')).toBe(12_182);
    expect(slotOf('')).toBe(0);
    expect(slotOf('tg:lock:reaper')).toBe(slotOf('{tg:lock:reaper}'));
  });

  it('is that of what is in the first braces, if anything is', () => {
    expect(slotOf('tg:{foo}:org')).toBe(12_182);
    expect(slotOf('{foo}{bar}')).toBe(12_182);
    expect(slotOf('foo{}{bar}')).not.toBe(slotOf('bar'));
    expect(slotOf('foo{bar')).not.toBe(slotOf('bar'));
  });
});
