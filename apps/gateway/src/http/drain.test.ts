import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { Drain } from './drain.ts';

const PIECE_BYTES = 64 * 1024;
const SLICE = 16;

/** A body of so many pieces that counts those read. */
class Body extends Readable {
  pieces = 0;

  constructor(pieces: number) {
    let sent = 0;
    super({
      highWaterMark: PIECE_BYTES,
      read() {
        this.push(sent++ < pieces ? Buffer.alloc(PIECE_BYTES) : null);
      },
    });
    this.on('data', () => this.pieces++).pause();
  }
}

/** Drains the bodies. The test ends each pause. */
function draining(...bodies: Body[]) {
  const pauses: (() => void)[] = [];
  const drain = new Drain((end) => pauses.push(end));
  for (const body of bodies) drain.add(body);
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const nextSlice = async () => {
    pauses.shift()?.();
    await settle();
  };
  return { pauses, settle, nextSlice };
}

describe('bodies that nobody wants', () => {
  it('are read a MiB at a time, and to their end', async () => {
    const body = new Body(3 * SLICE - 1);
    const { pauses, settle, nextSlice } = draining(body);
    await settle();
    expect(body.pieces).toBe(SLICE);
    await nextSlice();
    expect(body.pieces).toBe(2 * SLICE);
    await nextSlice();
    expect([body.pieces, body.readableEnded]).toEqual([3 * SLICE - 1, true]);
    await nextSlice();
    expect(pauses).toEqual([]);
  });

  it('share this MiB, however many they are, and take turns', async () => {
    const bodies = Array.from({ length: 4 * SLICE }, () => new Body(100));
    const { settle, nextSlice } = draining(...bodies);
    const read = () => bodies.reduce((sum, { pieces }) => sum + pieces, 0);
    await settle();
    for (let slices = 1; slices <= 12; slices++) {
      // Those that are being read when the slice ends may bring a piece each.
      expect(read()).toBeLessThanOrEqual(slices * 2 * SLICE + 4 * SLICE);
      await nextSlice();
    }
    expect(bodies.filter(({ pieces }) => pieces === 0)).toEqual([]);
  });

  it('have no turn any more once their connections have ended', async () => {
    const gone = Array.from({ length: SLICE }, () => new Body(100));
    const body = new Body(100);
    const { settle, nextSlice } = draining(...gone, body);
    await settle();
    const before = body.pieces;
    for (const one of gone) one.destroy();
    await settle();
    await nextSlice();
    expect(body.pieces).toBeGreaterThan(before);
  });
});
