import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import type { SessionResponse } from '@tidegate/rpc';
import type { ReplyContent } from './dispatch.ts';
import { requestIdOf } from './ids.ts';
import { Session, type SessionStream } from './session.ts';

/** The part of a gRPC stream that a session uses. */
class Stream extends EventEmitter {
  readonly messages: SessionResponse[] = [];

  write(response: SessionResponse): boolean {
    this.messages.push(response);
    return true;
  }

  pause(): void {}
  resume(): void {}
  end(): void {}
}

/** A session with `calls` open calls, which the test decides one by one. */
function open(calls: number) {
  const stream = new Stream();
  const decided: ((outcome: ReplyContent) => void)[] = [];
  const session = new Session({
    stream: stream as unknown as SessionStream,
    dispatch: () => new Promise((resolve) => decided.push(resolve)),
    maxOpenCalls: 100,
    onFailed: () => {},
    onClosed: () => {},
  });
  stream.emit('data', { calls: Array.from({ length: calls }, (_, callId) => ({ callId })) });
  const decide = (call: number) => decided[call]?.({ settle: {} });
  return { session, stream, decide };
}

/**
 * If requested before a reply, this resolves before anything that the reply defers to the end of
 * the turn.
 */
const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a reply', () => {
  it('leaves before the event-loop turn ends, together with those that were decided with it', async () => {
    const { session, stream, decide } = open(4);
    const turn = endOfTurn();
    for (const call of [0, 1]) decide(call);
    // As when replies are read from Redis: one callback, and promises that take steps of their own.
    void Promise.resolve().then(() => Promise.resolve().then(() => decide(2)));
    await turn;
    expect(stream.messages.map(({ replies }) => replies?.length)).toEqual([3]);
    expect(session.openCalls).toBe(1);
  });

  it('waits for nothing that is decided in a later callback', async () => {
    const { stream, decide } = open(2);
    for (const call of [0, 1]) {
      const turn = endOfTurn();
      decide(call);
      await turn;
    }
    expect(stream.messages.map(({ replies }) => replies?.length)).toEqual([1, 1]);
  });
});

describe('a call that fails', () => {
  it('is reported with the id of its request, as the client knows it', async () => {
    const stream = new Stream();
    const failed: (string | undefined)[] = [];
    new Session({
      stream: stream as unknown as SessionStream,
      dispatch: () => Promise.reject(new Error('a fault')),
      maxOpenCalls: 100,
      onFailed: (_error, call) => failed.push(requestIdOf(call)),
      onClosed: () => {},
    });
    const withId = (admissionId: string) => ({ call: 'admit', admit: { admissionId } });
    const calls = [withId('abc123'), withId('not an id'), { call: 'heartbeat', heartbeat: {} }];
    stream.emit('data', { calls: calls.map((call, callId) => ({ callId, ...call })) });
    await endOfTurn();
    expect(failed).toEqual(['req_abc123', undefined, undefined]);
  });
});

describe('a session with as many open calls as it may have', () => {
  it('still takes heartbeats, and no other call', async () => {
    const { session, stream } = open(100);
    stream.emit('data', { calls: [{ callId: 100 }, { callId: 101, heartbeat: {} }] });
    await endOfTurn();
    expect(stream.messages.flatMap(({ replies }) => replies?.map(({ callId }) => callId))).toEqual([100]);
    expect(session.openCalls).toBe(101);
  });
});
