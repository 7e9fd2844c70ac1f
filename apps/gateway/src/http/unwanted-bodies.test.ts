import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@tidegate/limits';
import { MAX_UNWANTED_MS } from './respond.ts';
import { UnwantedBodies } from './unwanted-bodies.ts';

const PIECE_BYTES = 64 * 1024;
const SLICE = 16;

/** A body of this many pieces. It counts those that are read. */
class Body extends Readable {
  pieces = 0;

  constructor(pieces: number, pieceBytes = PIECE_BYTES) {
    let sent = 0;
    super({
      highWaterMark: PIECE_BYTES,
      read() {
        this.push(sent++ < pieces ? Buffer.alloc(pieceBytes) : null);
      },
    });
    this.on('data', () => this.pieces++).pause();
  }
}

/** Reads the bodies. The test ends each pause. */
function reading(...bodies: Body[]) {
  const pauses: (() => void)[] = [];
  const time = { ms: 0 };
  const unwanted = new UnwantedBodies((end, ms) => {
    pauses.push(end);
    time.ms += ms;
  });
  for (const body of bodies) unwanted.add(body);
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const nextSlice = async () => {
    pauses.shift()?.();
    await settle();
  };
  return { pauses, time, settle, nextSlice };
}

describe('bodies that nobody wants', () => {
  it('are read a MiB at a time, and to their end', async () => {
    const body = new Body(3 * SLICE - 1);
    const { pauses, settle, nextSlice } = reading(body);
    await settle();
    expect(body.pieces).toBe(SLICE);
    await nextSlice();
    expect(body.pieces).toBe(2 * SLICE);
    await nextSlice();
    expect([body.pieces, body.readableEnded]).toEqual([3 * SLICE - 1, true]);
    await nextSlice();
    expect(pauses).toEqual([]);
  });

  it('are read at 17 MiB/s, so that the largest one ends before its connection does', async () => {
    const mib = LIMITS.visionBodyMaxBytes / 2 ** 20;
    const body = new Body(mib * SLICE);
    const { time, settle, nextSlice } = reading(body);
    await settle();
    for (let slices = 1; slices < mib; slices++) await nextSlice();
    expect(body.pieces).toBe(mib * SLICE);
    expect(mib / (time.ms / 1_000)).toBeCloseTo(17, 0);
    expect(time.ms).toBeLessThan(MAX_UNWANTED_MS);
  });

  it('are read a thousand pieces at a time if the pieces are small, because each takes time', async () => {
    const body = new Body(3_000, 1);
    const { settle, nextSlice } = reading(body);
    await settle();
    expect(body.pieces).toBe(1_024);
    await nextSlice();
    expect(body.pieces).toBe(2_048);
  });

  it('share one MiB, however many they are, and take turns', async () => {
    const bodies = Array.from({ length: 4 * SLICE }, () => new Body(100));
    const { settle, nextSlice } = reading(...bodies);
    const read = () => bodies.reduce((sum, { pieces }) => sum + pieces, 0);
    await settle();
    for (let slices = 1; slices <= 12; slices++) {
      // Bodies that are being read when the slice ends may bring one more piece each.
      expect(read()).toBeLessThanOrEqual(slices * 2 * SLICE + 4 * SLICE);
      await nextSlice();
    }
    expect(bodies.filter(({ pieces }) => pieces === 0)).toEqual([]);
  });

  it('leave no memory behind', async () => {
    const body = new Body(SLICE);
    const pieces: Buffer[] = [];
    body.on('data', (piece: Buffer) => pieces.push(piece)).pause();
    const { settle } = reading(body);
    await settle();
    expect(pieces.map(({ byteLength }) => byteLength)).toEqual(pieces.map(() => 0));
    expect(pieces).toHaveLength(SLICE);
  });

  it('get no more turns once their connections have ended', async () => {
    const gone = Array.from({ length: SLICE }, () => new Body(100));
    const body = new Body(100);
    const { settle, nextSlice } = reading(...gone, body);
    await settle();
    const before = body.pieces;
    for (const one of gone) one.destroy();
    await settle();
    await nextSlice();
    expect(body.pieces).toBeGreaterThan(before);
  });
});
