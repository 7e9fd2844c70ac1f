import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type LimiterClient, Peers, type SessionRequest } from '@tidegate/rpc';
import { type LimiterCall, LimiterSession } from './session.ts';

const ASKED: LimiterCall = { authenticate: { orgTag: 'x' } };

/**
 * The part of a gRPC stream that a session uses. It answers only the first call, which brings the
 * session up.
 */
class Stream extends EventEmitter {
  readonly messages: SessionRequest[] = [];
  #greeted = false;

  write(request: SessionRequest): boolean {
    this.messages.push(request);
    if (!this.#greeted) process.nextTick(() => this.answer(0));
    this.#greeted = true;
    return true;
  }

  /** Answers all calls of a message. */
  answer(message: number): void {
    const replies = this.messages[message]?.calls?.map(({ callId }) => ({ callId }));
    this.emit('data', { replies, notices: [] });
  }

  cancel(): void {}
}

let session: LimiterSession;
afterEach(() => session.stop());

async function start(): Promise<Stream> {
  const stream = new Stream();
  const client = { session: () => stream, close: () => {} };
  await new Promise<void>((onUp) => {
    session = new LimiterSession({
      peers: new Peers({ addresses: ['limiter'], random: () => 0, nowMs: () => 0 }),
      connect: () => client as unknown as LimiterClient,
      hello: () => ({ heartbeat: {} }),
      accept: () => 'up',
      onUp,
      onDown: () => {},
      onNotice: () => {},
      onQuiet: () => {},
      log: { warn: () => {}, info: () => {} },
      callTimeoutMs: 60_000,
      silenceMs: 60_000,
      reconnectMs: 60_000,
      findBetterMs: 60_000,
      random: () => 0,
      maxOpenCalls: 100,
      nowMs: () => performance.now(),
    });
    session.start();
  });
  stream.messages.length = 0;
  return stream;
}

/**
 * If requested before a call, this resolves before anything that the call defers to the end of the
 * turn.
 */
const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a call', () => {
  it('on its own leaves before the event-loop turn ends, together with others of the same tick', async () => {
    const stream = await start();
    const turn = endOfTurn();
    void session.call(ASKED);
    void Promise.resolve().then(() => session.call(ASKED));
    await turn;
    expect(stream.messages.map(({ calls }) => calls?.length)).toEqual([2]);
  });

  it('waits for the other calls of its turn while one is open', async () => {
    const stream = await start();
    void session.call(ASKED);
    await endOfTurn();
    const turn = endOfTurn();
    void session.call(ASKED);
    process.nextTick(() => void session.call(ASKED));
    await turn;
    expect(stream.messages).toHaveLength(1);
    await endOfTurn();
    expect(stream.messages.map(({ calls }) => calls?.length)).toEqual([1, 2]);
  });

  it('that follows a message with several waits for the end of its turn, and one that follows a single call does not', async () => {
    const stream = await start();
    const together = [session.call(ASKED), session.call(ASKED)];
    await endOfTurn();
    stream.answer(0);
    await Promise.all(together);

    const turn = endOfTurn();
    const alone = session.call(ASKED);
    await turn;
    expect(stream.messages).toHaveLength(1);
    await endOfTurn();
    stream.answer(1);
    await alone;

    const next = endOfTurn();
    void session.call(ASKED);
    await next;
    expect(stream.messages.map(({ calls }) => calls?.length)).toEqual([2, 1, 1]);
  });
});

describe('a session whose limiter cannot keep the lease', () => {
  const LOOK_MS = 600_000;
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick'] }));
  afterEach(() => void jest.useRealTimers());

  /** Its first limiter keeps the lease at first, and the others never do. */
  async function startBesideFailing() {
    const streams: Stream[] = [];
    const told = { down: 0 };
    await new Promise<void>((onUp) => {
      session = new LimiterSession({
        peers: new Peers({ addresses: ['one', 'two', 'three'], random: () => 0, nowMs: () => Date.now() }),
        connect: () => {
          const stream = new Stream();
          streams.push(stream);
          return { session: () => stream, close: () => {} } as unknown as LimiterClient;
        },
        hello: () => ({ heartbeat: {} }),
        accept: () => (streams.length === 1 ? 'up' : 'failed'),
        onUp,
        onDown: () => told.down++,
        onNotice: () => {},
        onQuiet: () => {},
        log: { warn: () => {}, info: () => {} },
        callTimeoutMs: LOOK_MS,
        silenceMs: LOOK_MS,
        reconnectMs: LOOK_MS,
        findBetterMs: LOOK_MS,
        random: () => 0.5,
        maxOpenCalls: 100,
        nowMs: () => Date.now(),
      });
      session.start();
      void jest.advanceTimersByTimeAsync(0);
    });
    return { streams, told };
  }

  it('asks another one immediately and then twice a second, stays, and asks no more once its own can keep it', async () => {
    const { streams, told } = await startBesideFailing();
    const { link } = session;
    session.setFailing(true, link);
    session.setFailing(true, link);
    await jest.advanceTimersByTimeAsync(0);
    expect(streams).toHaveLength(2);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(streams).toHaveLength(4);
    expect([session.link === link, told.down]).toEqual([true, 0]);
    session.setFailing(false, link);
    await jest.advanceTimersByTimeAsync(LOOK_MS / 2);
    expect(streams).toHaveLength(4);
  });

  it('heeds only reports about the limiter in use', async () => {
    const { streams } = await startBesideFailing();
    session.setFailing(true, {});
    await jest.advanceTimersByTimeAsync(1_000);
    expect(streams).toHaveLength(1);
  });
});
