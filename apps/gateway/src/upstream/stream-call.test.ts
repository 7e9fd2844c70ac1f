import { describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { StreamCall, type StreamSink } from './stream-call.ts';
import { StreamRewriter } from './stream-rewriter.ts';
import { AMPLE_MEMORY } from './upstream-call.ts';

const limits = { maxBytes: 1e6, maxEventBytes: 1e5, includeUsage: false, upstreamKey: '' };
const identity = { completionId: 'c', createdS: 1, model: 'm', reservedTokens: 9 };
const event = (content: string, finish: string | null = null) =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: finish }] })}\n\n`);

const HUNG_UP = { kind: 'aborted', reason: 'client_closed' } as const;
const ERROR = Buffer.from('data: {"error":"out of memory"}\n\n');

class Controller {
  aborted = false;
  paused = false;
  reason = null;
  abort(): void {
    this.aborted = true;
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
}

class Sink implements StreamSink {
  onDrain: (() => void) | null = null;
  unsentBytes = 0;
  slow = false;
  begun = false;
  writes: string[] = [];
  begin(): void {
    this.begun = true;
  }
  write(text: string): boolean {
    this.writes.push(text);
    return !this.slow;
  }
}

function start(
  times: Partial<{ maxMs: number; firstEventMs: number; pauseMs: number }> = {},
  memory = AMPLE_MEMORY,
) {
  const [controller, sink] = [new Controller(), new Sink()];
  const call = new StreamCall(
    new StreamRewriter(identity, limits),
    sink,
    {
      maxMs: 10_000,
      firstEventMs: 10_000,
      pauseMs: 10_000,
      ...times,
    },
    memory,
  );
  call.onRequestStart(controller);
  call.onResponseStart(controller, 200, {});
  return { call, controller, sink };
}

describe('a relayed stream', () => {
  it('begins with the first valid event, and is sent in the pieces in which it arrived', async () => {
    const { call, controller, sink } = start();
    call.onResponseData(controller, Buffer.from(': hi\n\n'));
    expect(sink.begun).toBe(false);
    call.onResponseData(controller, Buffer.concat([event('a'), event('b')]));
    call.onResponseData(controller, Buffer.concat([event('c', 'stop'), Buffer.from('data: [DONE]\n\n')]));
    expect(sink.begun).toBe(true);
    expect(sink.writes).toHaveLength(2);
    expect(await call.outcome).toEqual({ kind: 'streamed', tail: 'data: [DONE]\n\n', usage: null });
  });

  it.each<[string, (call: StreamCall, controller: Controller) => void]>([
    ['breaks', (call) => call.onResponseError()],
    ['sends an error', (call, controller) => call.onResponseData(controller, ERROR)],
    ['pauses too long', () => {}],
  ])('relays all text that came, even if its model %s after the finish reason', async (_name, then) => {
    const { call, controller, sink } = start({ pauseMs: 30 });
    call.onResponseData(controller, event('a'));
    call.onResponseData(controller, event('b', 'stop'));
    then(call, controller);
    expect(await call.outcome).toMatchObject({ kind: 'broken' });
    expect(sink.writes).toHaveLength(2);
    expect(sink.writes[1]).toMatch(/"content":"b"\}.*"finish_reason":null/);
  });

  it('does not wait longer for its first event because of events that are not relayed', async () => {
    const { call, controller, sink } = start({ firstEventMs: 100 });
    const nothing = setInterval(() => call.onResponseData(controller, Buffer.from('data: {}\n\n')), 10);
    expect(await call.outcome).toMatchObject({ kind: 'refused', code: 'upstream_error' });
    clearInterval(nothing);
    expect(sink.begun).toBe(false);
  });

  it('has not begun if its first event cannot be relayed', async () => {
    const { call, controller, sink } = start();
    call.onResponseData(controller, event('x'.repeat(2e5)));
    expect(await call.outcome).toMatchObject({ kind: 'refused', code: 'upstream_error' });
    expect([sink.begun, sink.writes]).toEqual([false, []]);
  });

  it('is not read while its reader is slow', async () => {
    const { call, controller, sink } = start();
    sink.slow = true;
    call.onResponseData(controller, event('a'));
    expect(controller.paused).toBe(true);
    sink.slow = false;
    sink.onDrain?.();
    expect(controller.paused).toBe(false);
    call.abort(HUNG_UP);
    await call.outcome;
  });

  it("times out for its own pauses, and not for its reader's", async () => {
    const { call, controller, sink } = start({ pauseMs: 30 });
    let ended = false;
    void call.outcome.then(() => {
      ended = true;
    });
    sink.slow = true;
    call.onResponseData(controller, event('a'));
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(ended).toBe(false);
    sink.onDrain?.();
    await eventually(() => ended);
    expect(await call.outcome).toEqual({ kind: 'broken', errorCode: 'stream_limit' });
    expect(controller.aborted).toBe(true);
  });

  it('completes what has come whole, even if the reader is slow and no memory is left', async () => {
    const { call, controller, sink } = start({}, { holdAnswer: () => false });
    sink.slow = true;
    sink.unsentBytes = 1_000_000;
    const all = [event('a'), event('b', 'stop'), Buffer.from('data: [DONE]\n\n')];
    call.onResponseData(controller, Buffer.concat(all));
    expect(await call.outcome).toMatchObject({ kind: 'streamed' });
    expect(sink.writes.join('').match(/"content":"b"/g)).toHaveLength(1);
  });

  it('breaks off if its reader is slow and no memory is left', async () => {
    const { call, controller, sink } = start({}, { holdAnswer: () => false });
    sink.slow = true;
    call.onResponseData(controller, event('a'));
    expect(await call.outcome).toEqual({ kind: 'broken', errorCode: 'stream_limit' });
  });

  it('counts the last piece, which is relayed only at its end', () => {
    const held: number[] = [];
    const { call, controller } = start({}, { holdAnswer: (bytes) => held.push(bytes) > 0 });
    call.onResponseData(controller, event('x'.repeat(500), 'stop'));
    expect(held.at(-1)).toBeGreaterThanOrEqual(500);
  });

  it('closes its connection when it is aborted, even while it connects', async () => {
    const { call, controller } = start();
    call.abort(HUNG_UP);
    expect(controller.aborted).toBe(true);
    expect(await call.outcome).toEqual(HUNG_UP);
    const early = new Controller();
    const other = new StreamCall(
      new StreamRewriter(identity, limits),
      new Sink(),
      {
        maxMs: 1_000,
        firstEventMs: 1_000,
        pauseMs: 1_000,
      },
      AMPLE_MEMORY,
    );
    other.abort({ kind: 'aborted', reason: 'lease_lost' });
    other.onRequestStart(early);
    expect(early.aborted).toBe(true);
  });

  it('keeps its connection only if the model ends the answer soon after [DONE]', async () => {
    const { call, controller } = start();
    call.onResponseData(controller, Buffer.concat([event('a', 'stop'), Buffer.from('data: [DONE]\n\n')]));
    await call.outcome;
    expect(controller.aborted).toBe(false);
    await eventually(() => controller.aborted);
  });
});
