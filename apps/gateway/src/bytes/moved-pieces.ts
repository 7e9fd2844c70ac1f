import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';

/*
 * V8 counts the memory of buffers. When that has grown by 64 MB since the last full collection, V8
 * begins another one. Until that collection ends, every thread that allocates a buffer spends 5 to
 * 10 ms marking the heap. V8 stops counting memory that has moved to a message.
 */

/**
 * Keeps bytes in messages that nobody has received yet, so that they burden no thread's heap.
 * Whoever creates one must call `discard` in the end.
 */
export class MovedPieces {
  readonly #channel = new MessageChannel();

  /** The memory of the piece moves, so the caller must not use it afterwards. */
  add(piece: Buffer): void {
    move(piece, this.#channel.port1);
  }

  /** To hand to a thread that reads all pieces with `receiveMoved`. */
  get port(): MessagePort {
    return this.#channel.port2;
  }

  /**
   * Frees what has not been received, unless another thread has the port: then that thread closes
   * it. Idempotent.
   */
  discard(): void {
    // A port that nobody listens to does not notice when the other one closes.
    this.#channel.port1.close();
    this.#channel.port2.close();
  }
}

/** Receives all pieces as one buffer of that many bytes, and closes the port. */
export function receiveMoved(port: MessagePort, bytes: number): Buffer {
  const whole = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (;;) {
    const received = receiveMessageOnPort(port);
    if (!received) break;
    whole.set(received.message, at);
    at += received.message.byteLength;
  }
  port.close();
  return whole;
}

/** Frees the memory of buffers immediately, rather than at the next collection. */
export class Shredder {
  #port: MessagePort | undefined;

  /** The caller must not use the piece afterwards. */
  shred(piece: Buffer): void {
    this.#port ??= portWithoutReceiver();
    if (isWhole(piece)) move(piece, this.#port);
  }
}

/** What is sent to this port is dropped, because the other end is closed. */
function portWithoutReceiver(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return port1;
}

function move(piece: Buffer, port: MessagePort): void {
  const owned = ownMemory(piece);
  port.postMessage(owned, [owned.buffer as ArrayBuffer]);
}

/**
 * Copies a piece if necessary, because only a whole ArrayBuffer can be moved to another thread.
 */
export const ownMemory = (piece: Buffer): Uint8Array =>
  isWhole(piece) ? new Uint8Array(piece.buffer) : new Uint8Array(piece);

const isWhole = ({ byteOffset, byteLength, buffer }: Buffer): boolean =>
  byteOffset === 0 && byteLength === buffer.byteLength;
