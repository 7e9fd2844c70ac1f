import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { Agent } from 'undici';
import { createConnector } from './connector.ts';
import { send } from './send.ts';
import { StreamCall, type StreamSink } from './stream-call.ts';
import { StreamRewriter } from './stream-rewriter.ts';
import { AMPLE_MEMORY } from './upstream-call.ts';

const agent = new Agent({ connect: createConnector({ timeout: 30_000 }) });
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
afterAll(() => agent.destroy());

const LONG_MS = 60_000;
const identity = { completionId: 'c', createdS: 1, model: 'm', reservedTokens: 9 };
const limits = { maxBytes: 1e6, maxEventBytes: 1e5, includeUsage: false, upstreamKey: '' };
const event = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: finish }] })}\n\n`;
const LAST = event('a', 'stop');

/** A reader that catches up long after the end of the answer. */
class SlowSink implements StreamSink {
  onDrain: (() => void) | null = null;
  unsentBytes = 0;
  begin(): void {}
  write(): boolean {
    setTimeout(() => this.onDrain?.(), 200);
    return false;
  }
}

/** Calls a server that answers with `answer`, for a slow reader. */
async function call(answer: (socket: Socket) => void) {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const sink = new SlowSink();
  const times = { maxMs: LONG_MS, firstEventMs: LONG_MS, pauseMs: LONG_MS };
  const streamed = new StreamCall(new StreamRewriter(identity, limits), sink, times, AMPLE_MEMORY);
  const { port } = server.address() as AddressInfo;
  const request = { body: [Buffer.from('{}')], key: '', requestId: 'r', streamed: true };
  send(agent, `http://127.0.0.1:${port}/v1`, request, streamed);
  return streamed.outcome;
}

const head = (...headers: string[]) => ['HTTP/1.1 200 OK', ...headers, '', ''].join('\r\n');
const COMPLETE = { kind: 'streamed', tail: 'data: [DONE]\n\n', usage: null };
const BROKEN = { kind: 'broken', errorCode: 'upstream_error' };

describe('a connection that ends while its answer is not read', () => {
  it.each<[string, string, object]>([
    ['completes an answer that ends with the connection', head() + LAST, COMPLETE],
    [
      'completes an answer of known length',
      head('connection: close', `content-length: ${LAST.length}`) + LAST,
      COMPLETE,
    ],
    [
      'breaks off an answer that is shorter than it said',
      head('connection: close', `content-length: ${LAST.length + 1}`) + LAST,
      BROKEN,
    ],
    [
      'breaks off an answer in chunks',
      `${head('connection: close', 'transfer-encoding: chunked')}${LAST.length.toString(16)}\r\n${LAST}`,
      BROKEN,
    ],
  ])('%s', async (_name, answer, outcome) => {
    expect(await call((socket) => socket.end(answer))).toEqual(outcome);
    const later = (socket: Socket) => {
      socket.write(answer);
      setTimeout(() => socket.end(), 50);
    };
    expect(await call(later)).toEqual(outcome);
  });

  it('breaks off the answer if it is reset', async () => {
    const outcome = await call((socket) => {
      socket.write(head('connection: close') + LAST);
      setTimeout(() => socket.resetAndDestroy(), 50);
    });
    expect(outcome).toEqual(BROKEN);
  });
});
