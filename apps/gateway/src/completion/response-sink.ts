import type { Exchange } from '../http/exchange.ts';
import type { StreamSink } from '../upstream/stream-call.ts';

/** The client's side of a streamed answer. */
export class ResponseSink implements StreamSink {
  onDrain: (() => void) | null = null;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  begin(): void {
    const { response, requestId, headers } = this.#exchange;
    this.#exchange.facts.firstChunkAtMs = performance.now();
    response.on('drain', () => this.onDrain?.());
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

  write(text: string): boolean {
    return this.#exchange.response.write(text);
  }
}
