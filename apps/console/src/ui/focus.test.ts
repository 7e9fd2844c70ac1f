import { describe, expect, it } from '@jest/globals';
import { destination } from './focus.ts';

describe('the focus after a dialog', () => {
  const [there, gone, beginning] = [
    { isConnected: true },
    { isConnected: false },
    { isConnected: true, isHeading: true },
  ];

  it('returns to what opened it, or to the beginning of the page if that is gone', () => {
    expect(destination(there, beginning)).toBe(there);
    expect(destination(gone, beginning)).toBe(beginning);
    expect(destination(null, beginning)).toBe(beginning);
  });
});
