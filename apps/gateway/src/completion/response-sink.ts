import type { Exchange } from '../http/exchange.ts';
import type { StreamSink } from '../upstream/stream-call.ts';

/**
 * The client's side of a streamed answer. A client that takes nothing more for `unreadTimeoutMs`
 * loses its connection, as if it had hung up.
 */
export class ResponseSink implements StreamSink {
  onDrain: (() => void) | null = null;
  readonly #exchange: Exchange;
  readonly #unreadTimeoutMs: number;

  constructor(exchange: Exchange, unreadTimeoutMs: number) {
    this.#exchange = exchange;
    this.#unreadTimeoutMs = unreadTimeoutMs;
  }

  begin(): void {
    const { response, requestId, headers } = this.#exchange;
    this.#exchange.facts.firstChunkAtMs = performance.now();
    response.on('drain', this.#onDrained);
    response.writeHead(200, [
      'x-request-id',
      requestId,
      'content-type',
      'text/event-stream; charset=utf-8',
      'cache-control',
      'no-cache',
      'x-accel-buffering',
      'no',
      ...headers,
    ]);
  }

  get unsentBytes(): number {
    return this.#exchange.response.writableLength;
  }

  write(text: string): boolean {
    const { response } = this.#exchange;
    const isTaken = response.write(text);
    if (!isTaken) response.socket?.setTimeout(this.#unreadTimeoutMs);
    return isTaken;
  }

  /**
   * Node also calls this while it writes an answer that is pipelined behind this one, even if the
   * connection has not drained.
   */
  readonly #onDrained = (): void => {
    const { socket } = this.#exchange.response;
    if (socket?.destroyed) return;
    if (socket?.writableNeedDrain) {
      socket.once('drain', this.#onDrained);
      return;
    }
    socket?.setTimeout(0);
    this.onDrain?.();
  };
}
