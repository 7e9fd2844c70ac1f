import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import fc from 'fast-check';
import { MovedPieces, receiveMoved, Shredder } from './moved-pieces.ts';

const MIB = 2 ** 20;

/** Starts to measure. The result returns by how many MiB the memory that V8 counts has grown. */
function countedMib(): () => number {
  const before = process.memoryUsage().external;
  return () => (process.memoryUsage().external - before) / MIB;
}

describe('pieces that have moved', () => {
  it('are received in order as one buffer, however they are split', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 100 })), (arrays) => {
        const pieces = arrays.map((bytes) => Buffer.from(bytes));
        const whole = Buffer.concat(pieces);
        const moved = new MovedPieces();
        for (const piece of pieces) moved.add(piece);
        expect(receiveMoved(moved.port, whole.length)).toEqual(whole);
        moved.discard();
      }),
    );
  });

  it('no longer count as memory of this thread', () => {
    const counted = countedMib();
    const moved = new MovedPieces();
    for (let i = 0; i < 32; i++) moved.add(Buffer.alloc(MIB));
    expect(counted()).toBeLessThan(2);
    moved.discard();
  });

  it('leave a buffer that others share as it is', () => {
    const shared = Buffer.from(new Uint8Array(8).fill(7).buffer);
    const moved = new MovedPieces();
    moved.add(shared.subarray(4));
    expect(receiveMoved(moved.port, 4)).toEqual(Buffer.alloc(4, 7));
    expect(shared).toEqual(Buffer.alloc(8, 7));
    moved.discard();
  });

  it('are freed once they are discarded', async () => {
    const before = process.memoryUsage().arrayBuffers;
    const moved = new MovedPieces();
    for (let i = 0; i < 32; i++) moved.add(Buffer.alloc(MIB));
    expect(process.memoryUsage().arrayBuffers - before).toBeGreaterThan(30 * MIB);
    moved.discard();
    moved.discard();
    await eventually(() => process.memoryUsage().arrayBuffers - before < 2 * MIB);
  });

  it('can be received in another thread, which closes the port', async () => {
    const moved = new MovedPieces();
    moved.add(Buffer.from('he'));
    moved.add(Buffer.from('llo'));
    const source = `
      const { parentPort, receiveMessageOnPort } = require('node:worker_threads');
      parentPort.once('message', ({ port }) => {
        const texts = [];
        for (let got; (got = receiveMessageOnPort(port)); ) texts.push(Buffer.from(got.message).toString());
        port.close();
        parentPort.postMessage(texts.join(''));
      });`;
    const worker = new Worker(source, { eval: true });
    try {
      const { port } = moved;
      worker.postMessage({ port }, [port]);
      const [text] = await once(worker, 'message');
      expect(text).toBe('hello');
    } finally {
      moved.discard();
      await worker.terminate();
    }
  });
});

describe('the shredder', () => {
  it('frees buffers immediately', () => {
    const counted = countedMib();
    const shredder = new Shredder();
    for (let i = 0; i < 32; i++) {
      const piece = Buffer.alloc(MIB);
      shredder.shred(piece);
      expect(piece.byteLength).toBe(0);
    }
    expect(counted()).toBeLessThan(2);
  });

  it('leaves a buffer that others share as it is', () => {
    const shared = Buffer.from(new Uint8Array(8).fill(7).buffer);
    new Shredder().shred(shared.subarray(4));
    expect(shared).toEqual(Buffer.alloc(8, 7));
  });
});
